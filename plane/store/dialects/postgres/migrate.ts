// Brings a PostgreSQL database to the newest schema. Planes that start together take turns.
import { sql, type Kysely } from "kysely";
import { missingFrom, type OpenOptions, type SchemaChange } from "../../migrations/index.ts";
import type { Schema } from "../../schema.ts";
import { postgresRows } from "./dialect.ts";

/** Any number that no other program uses for an advisory lock in this database. */
const LOCK = 4_174_713;

export async function migratePostgres(
  db: Kysely<Schema>,
  options: OpenOptions = {},
): Promise<SchemaChange> {
  return db.transaction().execute(async (transaction) => {
    await sql`SELECT pg_advisory_xact_lock(${LOCK})`.execute(transaction);
    await sql`CREATE TABLE IF NOT EXISTS aim_schema (version INTEGER NOT NULL)`.execute(
      transaction,
    );
    const found = await sql<{ version: number }>`SELECT version FROM aim_schema`.execute(
      transaction,
    );
    const from = found.rows[0]?.version ?? 0;
    let to = from;
    for (const migration of missingFrom(from, options)) {
      for (const statement of [...migration.both, ...migration.postgres]) {
        await sql.raw(statement).execute(transaction);
      }
      await migration.carryOver?.({ db: transaction, rows: postgresRows });
      to = migration.number;
    }
    if (to === from) return { from, to };
    await sql`DELETE FROM aim_schema`.execute(transaction);
    await sql`INSERT INTO aim_schema (version) VALUES (${to})`.execute(transaction);
    return { from, to };
  });
}
