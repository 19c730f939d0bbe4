// What the main thread and the beating thread say to each other.
import type { Heartbeat } from "@aim/contract";
import type { Connection } from "../plane-client.ts";

/** A stop is noticed with the next beat: this long it takes at most until it reaches the tool. */
export const BEAT_MS = 500;

/** Phases by their number among the counters. */
export const PHASES = [
  "preparing",
  "running",
  "finalizing",
  "stopping",
] as const satisfies Heartbeat["phase"][];

export interface ThreadData {
  readonly connection: Connection;
}

export interface Keep {
  readonly do: "keep";
  readonly key: number;
  readonly attemptId: string;
  readonly epoch: number;
  readonly leaseMs: number;
  /** Shared: number of the phase, last event's sequence, events lost. */
  readonly counters: Int32Array;
}

export type Ask =
  | Keep
  | { readonly do: "release"; readonly key: number }
  | { readonly do: "token"; readonly token: string };

export type Heard =
  /** The lease lives until this moment of `processNow`. */
  | { readonly key: number; readonly what: "extended"; readonly until: number }
  | { readonly key: number; readonly what: "cancel"; readonly graceMs: number }
  | { readonly key: number; readonly what: "lost" };
