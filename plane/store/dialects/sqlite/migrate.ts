// Brings a SQLite file to the newest schema, each migration in one transaction.
import type { DatabaseSync } from "node:sqlite";
import { Kysely, type Transaction } from "kysely";
import { MIGRATIONS } from "../../migrations/index.ts";
import { StoreRefused } from "../../refused.ts";
import type { Schema } from "../../schema.ts";
import { sqliteDialect, sqliteRows } from "./dialect.ts";

export async function migrateSqlite(database: DatabaseSync): Promise<void> {
  const row = database.prepare("PRAGMA user_version").get();
  const version = Number(row?.["user_version"] ?? 0);
  const newest = MIGRATIONS.at(-1)?.number ?? 0;
  if (version > newest) {
    throw new StoreRefused(`the database has schema ${version}, this release knows ${newest}`);
  }
  for (const migration of MIGRATIONS.filter(({ number }) => number > version)) {
    database.exec("BEGIN IMMEDIATE");
    for (const statement of [...migration.both, ...migration.sqlite]) database.exec(statement);
    // The one connection is in the transaction already, whatever Kysely thinks of it.
    const db = new Kysely<Schema>({ dialect: sqliteDialect(database) }) as Transaction<Schema>;
    await migration.carryOver?.({ db, rows: sqliteRows });
    database.exec(`PRAGMA user_version = ${migration.number}`);
    database.exec("COMMIT");
  }
}
