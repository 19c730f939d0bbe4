// Keeps the leases of a runner: a thread of their own beats for them, so that a busy main thread loses none.
import { Worker } from "node:worker_threads";
import type { Heartbeat } from "@aim/contract";
import type { Connection } from "../plane-client.ts";
import { BEAT_MS, PHASES, type Ask, type Heard, type ThreadData } from "./beats.ts";
import { processNow } from "./clock.ts";

export interface LeaseParts {
  readonly attemptId: string;
  readonly epoch: number;
  readonly leaseMs: number;
  readonly counters: () => Pick<Heartbeat, "phase" | "last_event_sequence" | "events_lost">;
  /** The lease lives until this many milliseconds from now. */
  readonly onExtended: (ms: number) => void;
  readonly onCancel: (graceMs: number) => void;
  /** The plane says that the lease is over: nothing may go on. */
  readonly onLost: () => void;
}

export interface Lease {
  readonly stop: () => void;
}

export interface LeaseKeeper {
  readonly keep: (parts: LeaseParts) => Lease;
  /** Beats from now on with this session of a remote runner. */
  readonly useToken: (token: string) => void;
}

/** The thread keeps no process alive. `onBroken` is called once it ends: nobody extends a lease then. */
export function startLeaseKeeper(
  connection: Connection,
  onBroken: (error: Error) => void,
): LeaseKeeper {
  const data: ThreadData = { connection };
  const thread = new Worker(new URL("./beat-thread.ts", import.meta.url), { workerData: data });
  thread.unref();
  let broken = false;
  const breakOnce = (error: Error) => {
    if (!broken) onBroken(error);
    broken = true;
  };
  thread.once("error", breakOnce);
  thread.once("exit", () => breakOnce(new Error("the beating thread has ended")));
  const kept = new Map<number, LeaseParts>();
  let leases = 0;

  const ask = (what: Ask) => thread.postMessage(what);
  thread.on("message", (heard: Heard) => {
    const parts = kept.get(heard.key);
    if (parts !== undefined) pass(parts, heard);
  });

  function keep(parts: LeaseParts): Lease {
    leases += 1;
    const key = leases;
    const counters = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
    const note = () => {
      const { phase, last_event_sequence: last, events_lost: lost } = parts.counters();
      [PHASES.indexOf(phase), last, lost].forEach((count, at) =>
        Atomics.store(counters, at, count),
      );
    };
    note();
    kept.set(key, parts);
    const { attemptId, epoch, leaseMs } = parts;
    ask({ do: "keep", key, attemptId, epoch, leaseMs, counters });
    const timer = setInterval(note, BEAT_MS / 2);
    return {
      stop: () => {
        clearInterval(timer);
        kept.delete(key);
        ask({ do: "release", key });
      },
    };
  }

  return { keep, useToken: (token) => ask({ do: "token", token }) };
}

function pass(parts: LeaseParts, heard: Heard): void {
  if (heard.what === "cancel") return parts.onCancel(heard.graceMs);
  if (heard.what === "lost") return parts.onLost();
  // The moment stands on the threads' one line: what came late extends by less, and what came too late by nothing.
  const left = heard.until - processNow();
  if (left > 0) parts.onExtended(left);
}
