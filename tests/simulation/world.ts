// What a history and its runners share: terms, the plane that lives now, and what somebody was told.
import type { Completion, RunEvent } from "@aim/contract";
import type { Dispatcher } from "../../plane/execution/dispatcher.ts";
import { NOW } from "../store/samples.ts";
import type { Chance } from "./chance.ts";
import type { Timeline } from "./timeline.ts";

export const TTL_MS = 5_000;
export const JOB_MS = 20_000;
export const GRACE_MS = 2_000;
/** By then every attempt must have come to its end, whatever happened. */
export const END_MS = JOB_MS + GRACE_MS + TTL_MS + 5_000;
export const RUNNERS = 3;

/** Every attempt's deadline. */
export const DEADLINE = NOW + JOB_MS;

/** What somebody was told; from then on it must be so. */
export interface Told {
  readonly jobs: Set<string>;
  readonly events: Map<string, Map<number, string>>;
  readonly completions: Map<string, string>;
  readonly terminals: Map<string, string>;
}

export interface World {
  readonly timeline: Timeline;
  readonly chance: Chance;
  /** The plane that lives now; another one after a crash. */
  readonly plane: () => Dispatcher;
  readonly told: Told;
  /** A call over the network: may be lost, doubled or late, and so may its answer. Resolves null when no answer came. */
  readonly call: <T>(make: (plane: Dispatcher) => Promise<T>) => Promise<{ answer: T } | null>;
  /** Every job was accepted or refused, and has ended. */
  readonly over: () => Promise<boolean>;
  readonly broken: (what: string) => void;
}

export function rememberEvents(world: World, attemptId: string, events: readonly RunEvent[]): void {
  const known = world.told.events.get(attemptId) ?? new Map<number, string>();
  for (const event of events) known.set(event.sequence, JSON.stringify(event));
  world.told.events.set(attemptId, known);
}

export function rememberCompletion(world: World, attemptId: string, completion: Completion): void {
  world.told.completions.set(attemptId, completion.outcome.verdict);
}
