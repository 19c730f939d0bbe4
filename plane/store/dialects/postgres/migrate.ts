// Brings a PostgreSQL database to the newest schema. Planes that start together take turns.
import { sql, type Kysely } from "kysely";
import { MIGRATIONS } from "../../migrations/index.ts";
import type { Schema } from "../../schema.ts";
import { postgresRows } from "./dialect.ts";
import { StoreRefused } from "../../refused.ts";

/** Any number that no other program uses for an advisory lock in this database. */
const LOCK = 4_174_713;

export async function migratePostgres(db: Kysely<Schema>): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql`SELECT pg_advisory_xact_lock(${LOCK})`.execute(transaction);
    await sql`CREATE TABLE IF NOT EXISTS aim_schema (version INTEGER NOT NULL)`.execute(
      transaction,
    );
    const found = await sql<{ version: number }>`SELECT version FROM aim_schema`.execute(
      transaction,
    );
    const version = found.rows[0]?.version ?? 0;
    const newest = MIGRATIONS.at(-1)?.number ?? 0;
    if (version > newest) {
      throw new StoreRefused(`the database has schema ${version}, this release knows ${newest}`);
    }
    for (const migration of MIGRATIONS.filter(({ number }) => number > version)) {
      for (const statement of [...migration.both, ...migration.postgres]) {
        await sql.raw(statement).execute(transaction);
      }
      await migration.carryOver?.({ db: transaction, rows: postgresRows });
    }
    await sql`DELETE FROM aim_schema`.execute(transaction);
    await sql`INSERT INTO aim_schema (version) VALUES (${newest})`.execute(transaction);
  });
}
