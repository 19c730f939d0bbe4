// After a restart of the plane: every lease gets one ttl, so that the time it was away loses nobody.
import type { Write } from "../transaction.ts";

export async function grantGrace(
  write: Write,
  use: { readonly now: number; readonly ttlMs: number },
): Promise<void> {
  const until = Math.round(use.now + use.ttlMs);
  await write.db
    .updateTable("attempts")
    .set({ lease_expires_ms: until })
    .where("lease_expires_ms", "is not", null)
    .where("lease_expires_ms", "<", until)
    .execute();
}
