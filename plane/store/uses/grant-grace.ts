// After a restart of the plane: every lease gets one ttl, so that the time it was away loses nobody.
import type { Transaction } from "kysely";
import type { Schema } from "../schema.ts";

export async function grantGrace(
  db: Transaction<Schema>,
  use: { readonly now: number; readonly ttlMs: number },
): Promise<void> {
  const until = Math.round(use.now + use.ttlMs);
  await db
    .updateTable("attempts")
    .set({ lease_expires_ms: until })
    .where("lease_expires_ms", "is not", null)
    .where("lease_expires_ms", "<", until)
    .execute();
}
