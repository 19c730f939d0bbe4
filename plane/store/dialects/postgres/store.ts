// The store of many planes: one PostgreSQL database, row locks instead of a single writer.
import { AimError } from "@aim/contract";
import { point } from "../../../base/point.ts";
import type { OpenOptions, SchemaChange } from "../../migrations/index.ts";
import type { Store } from "../../store.ts";
import { READS, WRITES } from "../../uses/index.ts";
import { connectPostgres, postgresRows } from "./dialect.ts";
import { migratePostgres } from "./migrate.ts";

/** Two transactions met; the one that lost is done again. Serialization failure, deadlock, and a claim that came twice. */
const MET = new Set(["40001", "40P01", "23505"]);
const TRIES_MAX = 5;
const DISK_FULL = "53100";

type AnyUse = (lent: unknown, ...args: readonly unknown[]) => Promise<unknown>;

/** Connects to `url` and migrates. Rejects when the database cannot be reached or has a newer schema. */
export async function openPostgresStore(
  url: string,
  onLost: (error: Error) => void,
  options: OpenOptions = {},
): Promise<Store> {
  const { db } = connectPostgres(url, onLost);
  await migratePostgres(db, options);

  const read =
    (use: AnyUse) =>
    (...args: readonly unknown[]) =>
      use(db, ...args);
  const write =
    (use: AnyUse) =>
    async (...args: readonly unknown[]) => {
      for (let tries = 1; ; tries += 1) {
        try {
          const value = await db.transaction().execute(async (transaction) => {
            const written = await use({ db: transaction, rows: postgresRows }, ...args);
            point("store.before_commit");
            return written;
          });
          point("store.after_commit");
          return value;
        } catch (error) {
          if (codeOf(error) === DISK_FULL) {
            throw new AimError("storage_full", undefined, { cause: error });
          }
          if (!MET.has(codeOf(error)) || tries === TRIES_MAX) throw error;
        }
      }
    };
  const bind = (uses: object, how: (use: AnyUse) => unknown) =>
    Object.entries(uses).map(([name, use]) => [name, how(use as AnyUse)]);
  return {
    ...Object.fromEntries([...bind(READS, read), ...bind(WRITES, write)]),
    backup: null,
    close: () => db.destroy(),
  } as Store;
}

/** Brings the database at `url` to the newest schema and does nothing else with it. */
export async function migrateAt(url: string): Promise<SchemaChange> {
  const { db } = connectPostgres(url, () => undefined);
  try {
    return await migratePostgres(db);
  } finally {
    await db.destroy();
  }
}

function codeOf(error: unknown): string {
  const found = error instanceof Error && "code" in error ? error.code : "";
  return typeof found === "string" ? found : "";
}
