// Brings a SQLite file to the newest schema, each migration in one transaction.
import type { DatabaseSync } from "node:sqlite";
import { Kysely, type Transaction } from "kysely";
import { missingFrom, type OpenOptions, type SchemaChange } from "../../migrations/index.ts";
import type { Schema } from "../../schema.ts";
import { sqliteDialect, sqliteRows } from "./dialect.ts";
import { openSqlite } from "./open.ts";

export async function migrateSqlite(
  database: DatabaseSync,
  options: OpenOptions = {},
): Promise<SchemaChange> {
  const row = database.prepare("PRAGMA user_version").get();
  const from = Number(row?.["user_version"] ?? 0);
  let to = from;
  for (const migration of missingFrom(from, options)) {
    database.exec("BEGIN IMMEDIATE");
    for (const statement of [...migration.both, ...migration.sqlite]) database.exec(statement);
    // The one connection is in the transaction already, whatever Kysely thinks of it.
    const db = new Kysely<Schema>({ dialect: sqliteDialect(database) }) as Transaction<Schema>;
    await migration.carryOver?.({ db, rows: sqliteRows });
    database.exec(`PRAGMA user_version = ${migration.number}`);
    database.exec("COMMIT");
    to = migration.number;
  }
  return { from, to };
}

/** The same for the file at `path`, which is made when absent. Lets go of the folder at its end. */
export async function migrateFile(path: string, unlock: () => void): Promise<SchemaChange> {
  try {
    const database = openSqlite(path);
    try {
      return await migrateSqlite(database);
    } finally {
      database.close();
    }
  } finally {
    unlock();
  }
}
