// The real uses on a real SQLite file, in this thread, so that one history is one order of things.
import { Kysely } from "kysely";
import { sqliteDialect, sqliteRows } from "../../plane/store/dialects/sqlite/dialect.ts";
import { migrateSqlite } from "../../plane/store/dialects/sqlite/migrate.ts";
import { openSqlite } from "../../plane/store/dialects/sqlite/open.ts";
import type { Schema } from "../../plane/store/schema.ts";
import type { Store } from "../../plane/store/store.ts";
import { READS, WRITES } from "../../plane/store/uses/index.ts";

type AnyUse = (lent: unknown, ...args: readonly unknown[]) => Promise<unknown>;

export class StoreFault extends Error {
  override readonly name = "StoreFault";
}

export interface Faults {
  /** Before a write: it does not happen. */
  readonly before: () => boolean;
  /** After a write was committed: its caller does not learn of it. */
  readonly after: () => boolean;
}

/** Opens `path` anew; closing without a checkpoint is what a killed process leaves. */
export function openSimulatedStore(path: string, faults: Faults): Store {
  const database = openSqlite(path);
  migrateSqlite(database);
  const db = new Kysely<Schema>({ dialect: sqliteDialect(database) });
  const read =
    (use: AnyUse) =>
    (...args: readonly unknown[]) =>
      use(db, ...args);
  const write =
    (use: AnyUse) =>
    async (...args: readonly unknown[]) => {
      if (faults.before()) throw new StoreFault("busy");
      const value = await db
        .transaction()
        .execute((transaction) => use({ db: transaction, rows: sqliteRows }, ...args));
      if (faults.after()) throw new StoreFault("committed, but nobody heard");
      return value;
    };
  const bind = (uses: object, how: (use: AnyUse) => unknown) =>
    Object.entries(uses).map(([name, use]) => [name, how(use as AnyUse)]);
  return {
    ...Object.fromEntries([...bind(READS, read), ...bind(WRITES, write)]),
    close: async () => {
      await db.destroy();
      // Kysely closes only what it has used.
      if (database.isOpen) database.close();
    },
  } as Store;
}
