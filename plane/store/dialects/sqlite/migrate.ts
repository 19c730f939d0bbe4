// Brings a SQLite file to the newest schema, each migration in one transaction.
import type { DatabaseSync } from "node:sqlite";
import { MIGRATIONS } from "../../migrations/index.ts";
import { StoreRefused } from "../../refused.ts";

export function migrateSqlite(database: DatabaseSync): void {
  const row = database.prepare("PRAGMA user_version").get();
  const version = Number(row?.["user_version"] ?? 0);
  const newest = MIGRATIONS.at(-1)?.number ?? 0;
  if (version > newest) {
    throw new StoreRefused(`the database has schema ${version}, this release knows ${newest}`);
  }
  for (const migration of MIGRATIONS.filter(({ number }) => number > version)) {
    database.exec("BEGIN IMMEDIATE");
    for (const statement of [...migration.both, ...migration.sqlite]) database.exec(statement);
    database.exec(`PRAGMA user_version = ${migration.number}`);
    database.exec("COMMIT");
  }
}
