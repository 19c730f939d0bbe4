// Keeps the lease of one attempt: heartbeats, and the word that it must stop.
import { AimError, type Heartbeat } from "@aim/contract";
import type { PlaneClient } from "../plane-client.ts";

export interface LeaseParts {
  readonly plane: PlaneClient;
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

/** A stop is noticed with the next beat: this long it takes at most until it reaches the tool. */
const BEAT_MS = 500;

/** Beats at least three times in a lease's life; counts the life from the moment a beat was sent, never from its answer. */
export function keepLease(parts: LeaseParts): Lease {
  const every = Math.min(BEAT_MS, Math.floor(parts.leaseMs / 3));
  let seq = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let heardCancel = false;

  async function beat(): Promise<void> {
    seq += 1;
    const sent = performance.now();
    const { attemptId, epoch } = parts;
    try {
      const answer = await parts.plane.heartbeat(attemptId, { epoch, seq, ...parts.counters() });
      if (stopped) return;
      parts.onExtended(Math.max(0, answer.lease_ms - (performance.now() - sent)));
      if (answer.cancel !== null && !heardCancel) {
        heardCancel = true;
        parts.onCancel(answer.cancel.grace_ms);
      }
    } catch (error) {
      // A plane that cannot be reached may come back; the sandbox's own deadline ends the work if it does not.
      if (error instanceof AimError && !stopped) parts.onLost();
    }
  }

  function next(): void {
    timer = setTimeout(() => void beat().finally(() => stopped || next()), every);
  }
  next();
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
