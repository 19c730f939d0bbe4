// Reads what a plane has stored, past the plane itself.
import { copyFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeFolder } from "./plane.ts";

type Table = "jobs" | "attempts" | "journal_events" | "revisions" | "bundles" | "seals";

export type Row = Readonly<Record<string, string | number | null>>;

/** How many rows a table of the plane's database holds. */
export function countRows(stateDir: string, table: Table): number {
  return Number(storedRows(stateDir, `SELECT count(*) AS n FROM ${table}`)[0]?.["n"]);
}

/** The rows that a query finds. The plane keeps its files locked, so a copy is read. */
export function storedRows(stateDir: string, query: string): readonly Row[] {
  const folder = makeFolder("copy");
  for (const name of ["aim.sqlite", "aim.sqlite-wal"]) {
    const from = join(stateDir, name);
    if (existsSync(from)) copyFileSync(from, join(folder, name));
  }
  const database = new DatabaseSync(join(folder, "aim.sqlite"));
  try {
    return database.prepare(query).all() as Row[];
  } finally {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
