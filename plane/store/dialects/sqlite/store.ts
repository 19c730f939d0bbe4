// The embedded store: a SQLite file in a thread of its own, so that a slow disk never stops the process from answering.
import { Worker } from "node:worker_threads";
import { AimError } from "@aim/contract";
import type { OpenOptions } from "../../migrations/index.ts";
import type { Store } from "../../store.ts";
import { READS, WRITES } from "../../uses/index.ts";
import { StoreRefused } from "../../refused.ts";
import type { Answer } from "./worker.ts";

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Opens the file at `path`. Rejects with StoreRefused when it cannot be used safely.
 * `onBroken` is called once when the thread dies: the process must end, since memory is no truth.
 */
export async function openSqliteStore(
  path: string,
  onBroken: (error: Error) => void,
  options: OpenOptions = {},
): Promise<Store> {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    workerData: { path, options },
  });
  const waiting = new Map<number, Waiting>();
  let next = 0;
  let closing = false;

  await new Promise<void>((resolve, reject) => {
    worker.once("message", () => resolve());
    worker.once("error", (error: Error) =>
      reject(new StoreRefused(error.message, { cause: error })),
    );
  });
  worker.on("error", (error: Error) => onBroken(error));
  worker.on("exit", () => {
    const error = new Error("the store's thread has ended");
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    if (!closing) onBroken(error);
  });
  worker.on("message", (answer: Answer) => {
    const call = waiting.get(answer.id);
    waiting.delete(answer.id);
    if (answer.ok) call?.resolve(answer.value);
    else call?.reject(answer.code === null ? new Error(answer.message) : new AimError(answer.code));
  });

  const call = (use: string, args: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      next += 1;
      waiting.set(next, { resolve, reject });
      worker.postMessage({ id: next, use, args });
    });

  const uses = Object.fromEntries(
    [...Object.keys(READS), ...Object.keys(WRITES)].map((use) => [
      use,
      (...args: unknown[]) => call(use, args),
    ]),
  );
  const close = async (): Promise<void> => {
    closing = true;
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    worker.postMessage("close");
    await ended;
  };
  const backup = (use: { readonly path: string }) => call("backup", [use]);
  return { ...uses, backup, close } as unknown as Store;
}
