// The thread that beats: for every lease that the runner holds, with a connection of its own. Decides nothing.
import { parentPort, workerData } from "node:worker_threads";
import { AimError } from "@aim/contract";
import { createPlaneClient } from "../plane-client.ts";
import { BEAT_MS, PHASES, type Ask, type Heard, type Keep, type ThreadData } from "./beats.ts";
import { processNow } from "./clock.ts";

/** A beat that hangs makes room for the next one while the lease still lives. */
const ANSWER_MS = { least: 1_000, most: 10_000 } as const;

const port = parentPort;
if (port === null) throw new Error("the beating thread has no parent");

let token: string | null = null;
const plane = createPlaneClient((workerData as ThreadData).connection, () => token);
const timers = new Map<number, NodeJS.Timeout>();
const say = (heard: Heard) => port.postMessage(heard);

/** Beats at least three times in a lease's life; counts the life from the moment a beat was sent, never from its answer. */
function keep({ key, attemptId, epoch, leaseMs, counters }: Keep): void {
  const every = Math.min(BEAT_MS, Math.floor(leaseMs / 3));
  const timeoutMs = Math.min(ANSWER_MS.most, Math.max(ANSWER_MS.least, leaseMs / 2));
  let seq = 0;
  let heardCancel = false;

  async function beat(): Promise<void> {
    seq += 1;
    const sent = processNow();
    const body = {
      epoch,
      seq,
      phase: PHASES[Atomics.load(counters, 0)] ?? "preparing",
      last_event_sequence: Atomics.load(counters, 1),
      events_lost: Atomics.load(counters, 2),
    };
    try {
      const { lease_ms, cancel } = await plane.heartbeat(attemptId, body, timeoutMs);
      say({ key, what: "extended", until: sent + lease_ms });
      if (cancel !== null && !heardCancel) {
        heardCancel = true;
        say({ key, what: "cancel", graceMs: cancel.grace_ms });
      }
    } catch (error) {
      // A plane that cannot be reached may come back; the sandbox's own deadline ends the work if it does not.
      if (error instanceof AimError) say({ key, what: "lost" });
    }
  }

  function next(): void {
    const again = () => void beat().finally(() => timers.has(key) && next());
    timers.set(key, setTimeout(again, every));
  }
  next();
}

port.on("message", (asked: Ask) => {
  if (asked.do === "token") token = asked.token;
  else if (asked.do === "keep") keep(asked);
  else {
    clearTimeout(timers.get(asked.key));
    timers.delete(asked.key);
  }
});
