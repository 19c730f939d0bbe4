// The thread that owns the SQLite file. One use after another, each in its own transaction.
import { parentPort, workerData } from "node:worker_threads";
import { Kysely } from "kysely";
import { AimError, type ProblemCode } from "@aim/contract";
import type { Schema } from "../../schema.ts";
import { READS, WRITES } from "../../uses/index.ts";
import { sqliteDialect, sqliteRows } from "./dialect.ts";
import { migrateSqlite } from "./migrate.ts";
import { openSqlite } from "./open.ts";

export interface Call {
  readonly id: number;
  readonly use: string;
  readonly args: readonly unknown[];
}

export type Answer =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | {
      readonly id: number;
      readonly ok: false;
      readonly message: string;
      /** Set for a refusal; anything else is a defect. */
      readonly code: ProblemCode | null;
    };

type AnyUse = (db: unknown, ...args: readonly unknown[]) => Promise<unknown>;

const port = parentPort;
if (port === null) throw new Error("the store's thread has no parent");

const database = openSqlite((workerData as { path: string }).path);
migrateSqlite(database);
const db = new Kysely<Schema>({ dialect: sqliteDialect(database) });

async function run({ use, args }: Call): Promise<unknown> {
  if (Object.hasOwn(READS, use))
    return (READS as unknown as Record<string, AnyUse>)[use]?.(db, ...args);
  const write = (WRITES as unknown as Record<string, AnyUse>)[use];
  if (write === undefined) throw new Error(`the store has no use ${use}`);
  return db
    .transaction()
    .execute((transaction) => write({ db: transaction, rows: sqliteRows }, ...args));
}

async function answer(call: Call): Promise<Answer> {
  try {
    return { id: call.id, ok: true, value: await run(call) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { id: call.id, ok: false, message, code: codeOf(error, message) };
  }
}

function codeOf(error: unknown, message: string): ProblemCode | null {
  if (error instanceof AimError) return error.code;
  return /database or disk is full/i.test(message) ? "storage_full" : null;
}

let turn: Promise<void> = Promise.resolve();
port.on("message", (call: Call | "close") => {
  turn = turn.then(async () => {
    if (call !== "close") return port.postMessage(await answer(call));
    await db.destroy();
    port.close();
  });
});
port.postMessage("ready");
