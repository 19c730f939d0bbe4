// The thread that owns the SQLite file. One use after another, each in its own transaction.
import { parentPort, workerData } from "node:worker_threads";
import { AimError, type ProblemCode } from "@aim/contract";
import type { OpenOptions } from "../../migrations/index.ts";
import { openUses } from "./uses.ts";

export const BACKUP = "backup";

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

const port = parentPort;
if (port === null) throw new Error("the store's thread has no parent");

const { path, options } = workerData as { path: string; options: OpenOptions };
const uses = openUses(path, options);

async function answer(call: Call): Promise<Answer> {
  try {
    if (call.use === BACKUP) await uses.backup((call.args as [{ path: string }])[0].path);
    const value = call.use === BACKUP ? undefined : await uses.run(call.use, call.args);
    return { id: call.id, ok: true, value };
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
  // A copy of everything takes its time: nobody stands in line behind it.
  if (call !== "close" && call.use === BACKUP) {
    void answer(call).then((answered) => port.postMessage(answered));
    return;
  }
  turn = turn.then(async () => {
    if (call !== "close") return port.postMessage(await answer(call));
    await uses.close();
    port.close();
  });
});
await uses.ready;
port.postMessage("ready");
