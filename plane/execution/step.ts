// Decides every move of an attempt. Pure: no clock, no store, no chance; the same input gives the same answer.
import {
  isTerminal,
  mayMove,
  type AttemptState,
  type Effect,
  type ProblemCode,
} from "@aim/contract";
import type { Attempt } from "./attempt.ts";

/** What becomes of an attempt that was asked to stop and whose runner then fell silent. */
export type SilentCancel = "lost" | "cancelled";

/** A command may find a lease over: what that makes of the attempt the installation says; lost when absent. */
export type Command = Wish & { readonly silentCancel?: SilentCancel };

type Wish =
  | {
      readonly do: "claim";
      readonly runner: string;
      readonly claimId: string;
      readonly ttlMs: number;
    }
  | {
      readonly do: "move";
      readonly epoch: number;
      readonly to: "preparing" | "running" | "finalizing";
    }
  | { readonly do: "heartbeat"; readonly epoch: number; readonly ttlMs: number }
  | { readonly do: "cancel" }
  | { readonly do: "complete"; readonly epoch: number; readonly report: Report }
  | { readonly do: "reap" };

/** The terminal facts a runner reports; `digest` is taken over all of them in canonical form. */
export interface Report {
  readonly digest: string;
  readonly verdict: "succeeded" | "failed" | "cancelled" | "timed_out";
  readonly effect: Effect;
  readonly killConfirmed: boolean;
}

type Changes = { -readonly [K in keyof Attempt]?: Attempt[K] };

export type Step =
  | { readonly ok: true; readonly changes: Changes }
  /** Refused; `changes` still hold, e.g. an expired lease becomes lost in the very call that found it. */
  | {
      readonly ok: false;
      readonly code: ProblemCode;
      readonly changes: Changes;
      readonly late: boolean;
    };

const NOTHING: Changes = {};
const unchanged: Step = { ok: true, changes: NOTHING };

function refuse(code: ProblemCode, changes: Changes = NOTHING, late = false): Step {
  return { ok: false, code, changes, late };
}

export function step(attempt: Attempt, command: Command, now: number): Step {
  switch (command.do) {
    case "claim":
      return claim(attempt, command, now);
    case "cancel":
      return cancel(attempt, now);
    case "reap":
      return reap(attempt, command, now);
    default:
      return fromRunner(attempt, command, now);
  }
}

function claim(attempt: Attempt, command: Extract<Command, { do: "claim" }>, now: number): Step {
  const same = attempt.claimId === command.claimId && attempt.runner === command.runner;
  if (same && attempt.state === "leased") return unchanged;
  if (attempt.state !== "queued" || now >= attempt.deadline) return refuse("state_conflict");
  return {
    ok: true,
    changes: {
      state: "leased",
      epoch: attempt.epoch + 1,
      runner: command.runner,
      claimId: command.claimId,
      leaseExpires: leaseEnd(attempt, now, command.ttlMs),
      started: now,
    },
  };
}

/** No runner ever had it: nothing happened and nothing can be left running. */
const neverStarted: Changes = { effect: "none", killConfirmed: true };

function cancel(attempt: Attempt, now: number): Step {
  if (isTerminal(attempt.state) || attempt.state === "cancelling") return unchanged;
  if (attempt.state === "queued") {
    return {
      ok: true,
      changes: {
        ...ended("cancelled", now),
        ...neverStarted,
        cancelRequested: now,
        failureCategory: "cancelled",
      },
    };
  }
  return { ok: true, changes: { state: "cancelling", cancelRequested: now } };
}

function reap(attempt: Attempt, command: Command, now: number): Step {
  if (isTerminal(attempt.state)) return unchanged;
  if (attempt.state === "queued") {
    if (now < attempt.deadline) return unchanged;
    return {
      ok: true,
      changes: { ...ended("timed_out", now), ...neverStarted, failureCategory: "timeout" },
    };
  }
  if (!leaseEnded(attempt, now)) return unchanged;
  return { ok: true, changes: silent(attempt, command, now) };
}

type RunnerCommand = Extract<Command, { epoch: number }>;

function fromRunner(attempt: Attempt, command: RunnerCommand, now: number): Step {
  if (isTerminal(attempt.state)) return afterTheEnd(attempt, command);
  if (command.epoch !== attempt.epoch)
    return refuse("epoch_stale", NOTHING, command.do === "complete");
  if (leaseEnded(attempt, now))
    return refuse("lease_lost", silent(attempt, command, now), command.do === "complete");
  if (command.do === "heartbeat") {
    return { ok: true, changes: { leaseExpires: leaseEnd(attempt, now, command.ttlMs) } };
  }
  return command.do === "move"
    ? move(attempt, command.to, now)
    : complete(attempt, command.report, now);
}

function afterTheEnd(attempt: Attempt, command: RunnerCommand): Step {
  if (command.do !== "complete") return refuse("lease_lost");
  const same = command.epoch === attempt.epoch && command.report.digest === attempt.terminalDigest;
  return same ? unchanged : refuse("terminal_conflict", NOTHING, true);
}

function move(attempt: Attempt, to: "preparing" | "running" | "finalizing", now: number): Step {
  if (attempt.state === to) return unchanged;
  // A stop was asked for: a runner that has not started the tool must not start it now.
  if (attempt.state === "cancelling" && to === "finalizing") return unchanged;
  if (!mayMove(attempt.state, to)) return refuse("state_conflict");
  if (to === "running" && now >= attempt.deadline) return refuse("state_conflict");
  return { ok: true, changes: to === "running" ? { state: to, everRunning: true } : { state: to } };
}

function complete(attempt: Attempt, report: Report, now: number): Step {
  const to: AttemptState = report.verdict;
  if (!mayMove(attempt.state, to)) return refuse("state_conflict", NOTHING, true);
  const needsProof = to === "cancelled" || to === "timed_out";
  if (needsProof && !report.killConfirmed) return refuse("state_conflict", NOTHING, true);
  if (to === "timed_out" && now < attempt.deadline) return refuse("state_conflict", NOTHING, true);
  return {
    ok: true,
    changes: {
      ...ended(to, now),
      effect: attempt.everRunning ? report.effect : "none",
      killConfirmed: report.killConfirmed,
      terminalDigest: report.digest,
    },
  };
}

/** Nobody says what happened: whatever the state is called, the effect of what ever ran is unknown. */
function silent(attempt: Attempt, { silentCancel }: Command, now: number): Changes {
  const effect = attempt.everRunning ? "unknown" : "none";
  return attempt.state === "cancelling" && silentCancel === "cancelled"
    ? { ...ended("cancelled", now), effect, failureCategory: "cancelled" }
    : { ...ended("lost", now), effect, failureCategory: "lease_lost" };
}

function ended(state: AttemptState, now: number): Changes {
  return { state, ended: now, leaseExpires: null };
}

function leaseEnded(attempt: Attempt, now: number): boolean {
  return attempt.leaseExpires !== null && now >= attempt.leaseExpires;
}

/** A lease never outlives the time in which the attempt must have come to its end. */
function leaseEnd(attempt: Attempt, now: number, ttlMs: number): number {
  return Math.min(now + ttlMs, attempt.deadline + attempt.graceMs + ttlMs);
}
