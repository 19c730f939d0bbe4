// Brings a SQLite file to the newest schema, each migration in one transaction.
import type { DatabaseSync } from "node:sqlite";
import { missingFrom, type OpenOptions, type SchemaChange } from "../../migrations/index.ts";
import { openSqlite } from "./open.ts";

export function migrateSqlite(database: DatabaseSync, options: OpenOptions = {}): SchemaChange {
  const row = database.prepare("PRAGMA user_version").get();
  const from = Number(row?.["user_version"] ?? 0);
  let to = from;
  for (const migration of missingFrom(from, options)) {
    database.exec("BEGIN IMMEDIATE");
    for (const statement of [...migration.both, ...migration.sqlite]) database.exec(statement);
    database.exec(`PRAGMA user_version = ${migration.number}`);
    database.exec("COMMIT");
    to = migration.number;
  }
  return { from, to };
}

/** The same for the file at `path`, which is made when absent. Lets go of the folder at its end. */
export function migrateFile(path: string, unlock: () => void): SchemaChange {
  try {
    const database = openSqlite(path);
    try {
      return migrateSqlite(database);
    } finally {
      database.close();
    }
  } finally {
    unlock();
  }
}
