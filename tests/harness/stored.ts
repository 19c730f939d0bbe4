// Reads what a plane has stored, past the plane itself.
import { copyFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeFolder } from "./plane.ts";

type Table = "jobs" | "attempts" | "journal_events" | "revisions" | "bundles" | "seals";

/** How many rows a table of the plane's database holds. The plane keeps its files locked, so a copy is read. */
export function countRows(stateDir: string, table: Table): number {
  const folder = makeFolder("copy");
  for (const name of ["aim.sqlite", "aim.sqlite-wal"]) {
    const from = join(stateDir, name);
    if (existsSync(from)) copyFileSync(from, join(folder, name));
  }
  const database = new DatabaseSync(join(folder, "aim.sqlite"));
  try {
    const row = database.prepare(`SELECT count(*) AS n FROM ${table}`).get();
    return Number(row?.["n"]);
  } finally {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
