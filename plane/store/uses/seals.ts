// Seals of ended attempts, and the attempts that still lack one. The first seal of an attempt stands.
import type { Kysely } from "kysely";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";

export interface SaveSeal {
  readonly attemptId: string;
  readonly customer: string;
  readonly manifestDigest: string;
  /** Canonical JSON. */
  readonly envelope: string;
  readonly now: number;
}

/** Answers the envelope that stands: this one, or the one that was there before. */
export async function saveSeal({ db }: Write, use: SaveSeal): Promise<string> {
  await db
    .insertInto("seals")
    .values({
      attempt_id: use.attemptId,
      customer_id: use.customer,
      manifest_digest: use.manifestDigest,
      envelope: use.envelope,
      sealed_ms: Math.round(use.now),
    })
    .onConflict((conflict) => conflict.column("attempt_id").doNothing())
    .execute();
  const { envelope } = await db
    .selectFrom("seals")
    .select("envelope")
    .where("attempt_id", "=", use.attemptId)
    .executeTakeFirstOrThrow();
  return envelope;
}

export async function readSeal(
  db: Kysely<Schema>,
  use: { readonly attemptId: string },
): Promise<string | null> {
  const row = await db
    .selectFrom("seals")
    .select("envelope")
    .where("attempt_id", "=", use.attemptId)
    .executeTakeFirst();
  return row?.envelope ?? null;
}

/** Ids after `after` of attempts that left a manifest and have no seal, in order. Only ended attempts have a manifest. */
export async function unsealed(
  db: Kysely<Schema>,
  use: { readonly after: string; readonly limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom("manifests")
    .leftJoin("seals", "seals.attempt_id", "manifests.attempt_id")
    .select("manifests.attempt_id")
    .where("seals.attempt_id", "is", null)
    .where("manifests.attempt_id", ">", use.after)
    .orderBy("manifests.attempt_id")
    .limit(use.limit)
    .execute();
  return rows.map(({ attempt_id }) => attempt_id);
}
