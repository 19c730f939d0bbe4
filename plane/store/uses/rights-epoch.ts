// One number that changes with every right: cheap to ask, so that an open stream need not look everything up again.
import { sql, type Kysely } from "kysely";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";

const KEY = "rights_epoch";

/** Part of every transaction that gives or takes a right, or ends a session or a token. */
export async function bumpRights({ db }: Write): Promise<void> {
  await db
    .updateTable("meta")
    .set({ value: sql<string>`CAST(CAST(value AS BIGINT) + 1 AS TEXT)` })
    .where("key", "=", KEY)
    .execute();
}

/** Whoever reads the same number twice knows that nobody's rights have changed in between. */
export async function readRightsEpoch(db: Kysely<Schema>): Promise<number> {
  const row = await db
    .selectFrom("meta")
    .select("value")
    .where("key", "=", KEY)
    .executeTakeFirstOrThrow();
  return Number(row.value);
}
