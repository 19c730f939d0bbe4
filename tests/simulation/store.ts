// The real uses on a real SQLite file, in this thread, so that one history is one order of things.
import { openUses } from "../../plane/store/dialects/sqlite/uses.ts";
import type { Store } from "../../plane/store/store.ts";
import { READS, WRITES } from "../../plane/store/uses/index.ts";

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
  const uses = openUses(path);

  async function write(name: string, args: readonly unknown[]): Promise<unknown> {
    if (faults.before()) throw new StoreFault("busy");
    const value = await uses.run(name, args);
    if (faults.after()) throw new StoreFault("committed, but nobody heard");
    return value;
  }

  const bind = (names: object, how: (name: string, args: readonly unknown[]) => unknown) =>
    Object.keys(names).map((name) => [name, (...args: readonly unknown[]) => how(name, args)]);
  return {
    ...Object.fromEntries([...bind(READS, uses.run), ...bind(WRITES, write)]),
    backup: null,
    close: uses.close,
  } as Store;
}
