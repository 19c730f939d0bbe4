// Opens the one SQLite file: durable, exclusive, and only if both are truly in force.
import { closeSync, openSync, readFileSync, writeSync, ftruncateSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StoreRefused } from "../../refused.ts";

/** First release without the WAL-reset race that loses committed rows. */
const SQLITE_MIN = [3, 51, 3] as const;
const SYNCHRONOUS_FULL = 2;
const BUSY_TIMEOUT_MS = 250;

/**
 * Opens `path`, creating it when absent. Throws StoreRefused when another process holds it, when the SQLite
 * in this Node is too old, or when FULL durability is not in force.
 */
export function openSqlite(path: string): DatabaseSync {
  const database = new DatabaseSync(path, {
    timeout: BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: true,
  });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = FULL");
    database.exec("PRAGMA trusted_schema = OFF");
    database.exec("PRAGMA foreign_keys = ON");
    checkVersion(pragma(database, "SELECT sqlite_version() AS value"));
    check("journal_mode", pragma(database, "PRAGMA journal_mode"), "wal");
    check("synchronous", pragma(database, "PRAGMA synchronous"), SYNCHRONOUS_FULL);
    check("foreign_keys", pragma(database, "PRAGMA foreign_keys"), 1);
    return database;
  } catch (error) {
    database.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) {
      throw new StoreRefused(`the database ${path} is in use by another process`, { cause: error });
    }
    throw error;
  }
}

function pragma(database: DatabaseSync, sql: string): unknown {
  const row = database.prepare(sql).get();
  return row === undefined ? undefined : Object.values(row)[0];
}

function check(name: string, found: unknown, wanted: unknown): void {
  if (found !== wanted) {
    throw new StoreRefused(`SQLite reports ${name}=${String(found)}, needed is ${String(wanted)}`);
  }
}

function checkVersion(found: unknown): void {
  const parts = String(found).split(".").map(Number);
  for (const [index, least] of SQLITE_MIN.entries()) {
    const part = parts[index] ?? 0;
    if (part > least) return;
    if (part < least)
      throw new StoreRefused(
        `SQLite ${String(found)} is too old, needed is ${SQLITE_MIN.join(".")}`,
      );
  }
}

/**
 * Takes the state folder for this process. A lock of a process that is gone is taken over.
 * Throws StoreRefused while its holder lives.
 */
export function lockFolder(path: string): () => void {
  const file = openSync(path, "a+", 0o600);
  const holder = readFileSync(path, "utf8").trim();
  if (holder !== "" && holder !== identity(process.pid) && holderLives(holder)) {
    closeSync(file);
    throw new StoreRefused(`the state folder is in use by process ${holder.split(" ")[0] ?? ""}`);
  }
  ftruncateSync(file);
  writeSync(file, `${identity(process.pid)}\n`);
  return () => {
    ftruncateSync(file);
    closeSync(file);
  };
}

function holderLives(holder: string): boolean {
  return holder === identity(Number(holder.split(" ")[0]));
}

/** A pid and the moment its process began: a later process with the same pid is another one. */
function identity(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return `${pid} ${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""}`;
  } catch {
    return `${pid} gone`;
  }
}
