// What the scripted sides were told by a plane. From then on it must be so, whatever is killed.
import { canonicalJson, type RunEvent } from "@aim/contract";

export interface ToldJob {
  readonly jobId: string;
  readonly runId: string;
  /** The answer, byte for byte. */
  readonly text: string;
}

export interface ToldGrant {
  readonly attemptId: string;
  readonly epoch: number;
  readonly runner: string;
}

export interface Told {
  /** By idempotency key. */
  readonly jobs: Map<string, ToldJob>;
  /** Runs whose stop was taken. */
  readonly cancelled: Set<string>;
  /** Bytes that were taken, by digest. */
  readonly kept: Map<string, string>;
  readonly grants: ToldGrant[];
  /** Of each attempt by sequence, as they were sent. */
  readonly events: Map<string, Map<number, string>>;
  /** `attempt epoch seq` */
  readonly heartbeats: Set<string>;
  /** The state that was answered, by attempt. */
  readonly ended: Map<string, string>;
  /** What no plane may ever answer. */
  readonly broken: string[];
}

export function nothingTold(): Told {
  return {
    jobs: new Map(),
    cancelled: new Set(),
    kept: new Map(),
    grants: [],
    events: new Map(),
    heartbeats: new Set(),
    ended: new Map(),
    broken: [],
  };
}

export function rememberEvents(told: Told, attemptId: string, events: readonly RunEvent[]): void {
  const known = told.events.get(attemptId) ?? new Map<number, string>();
  for (const event of events) known.set(event.sequence, canonicalJson(event));
  told.events.set(attemptId, known);
}
