// Looks at a copy of a SQLite database: its owner may hold the file locked, and what is asked may change it.
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** The first value of the first row. */
export type AskNumber = (sql: string) => number;

export function inCopyOf<T>(path: string, look: (ask: AskNumber, database: DatabaseSync) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "aim-at-rest-"));
  for (const end of ["", "-wal"]) {
    if (existsSync(path + end)) copyFileSync(path + end, join(folder, `copy${end}`));
  }
  const database = new DatabaseSync(join(folder, "copy"));
  const ask: AskNumber = (sql) => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
  try {
    return look(ask, database);
  } finally {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Bytes of the pages of all tables whose name begins so, their indices included, once no free room is left in them. */
export function packedBytes(path: string, prefix = ""): number {
  return inCopyOf(path, (ask, database) => {
    database.exec("VACUUM");
    return ask(
      `SELECT sum(pgsize) FROM dbstat JOIN sqlite_schema USING (name) WHERE tbl_name LIKE '${prefix}%'`,
    );
  });
}
