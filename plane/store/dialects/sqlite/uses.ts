// The uses bound to one open SQLite file, in whatever thread opened it.
import { backup } from "node:sqlite";
import { Kysely } from "kysely";
import { point } from "../../../base/point.ts";
import type { OpenOptions } from "../../migrations/index.ts";
import type { Schema } from "../../schema.ts";
import { READS, WRITES } from "../../uses/index.ts";
import { sqliteDialect, sqliteRows } from "./dialect.ts";
import { migrateSqlite } from "./migrate.ts";
import { openSqlite } from "./open.ts";

/** Few enough that whoever waits for the database does not notice. */
const BACKUP_PAGES = 500;

type AnyUse = (lent: unknown, ...args: readonly unknown[]) => Promise<unknown>;

export interface BoundUses {
  /** Resolves when the schema is the newest; nothing runs before. */
  readonly ready: Promise<unknown>;
  /** Runs one use by its name; a writing one in a transaction of its own. */
  readonly run: (use: string, args: readonly unknown[]) => Promise<unknown>;
  /** Copies what is committed into a new file at `path`, page by page, between other uses. */
  readonly backup: (path: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Opens and migrates the file at `path`. Throws StoreRefused when it cannot be used safely. */
export function openUses(path: string, options: OpenOptions = {}): BoundUses {
  const database = openSqlite(path);
  const ready = migrateSqlite(database, options);
  // Whoever asks hears of it; nobody else must.
  ready.catch(() => undefined);
  const db = new Kysely<Schema>({ dialect: sqliteDialect(database) });
  const reads: ReadonlyMap<string, unknown> = new Map(Object.entries(READS));
  const writes: ReadonlyMap<string, unknown> = new Map(Object.entries(WRITES));

  async function run(use: string, args: readonly unknown[]): Promise<unknown> {
    await ready;
    const read = reads.get(use) as AnyUse | undefined;
    if (read !== undefined) return read(db, ...args);
    const write = writes.get(use) as AnyUse | undefined;
    if (write === undefined) throw new Error(`the store has no use ${use}`);
    const value = await db.transaction().execute(async (transaction) => {
      const written = await write({ db: transaction, rows: sqliteRows }, ...args);
      point("store.before_commit");
      return written;
    });
    point("store.after_commit");
    return value;
  }

  let copying: Promise<unknown> = Promise.resolve();
  async function copy(path: string): Promise<void> {
    const done = backup(database, path, { rate: BACKUP_PAGES });
    copying = done.catch(() => undefined);
    await done;
  }

  async function close(): Promise<void> {
    await ready.catch(() => undefined);
    await copying;
    await db.destroy();
    // Kysely closes only what it has used.
    if (database.isOpen) database.close();
  }

  return { ready, run, backup: copy, close };
}
