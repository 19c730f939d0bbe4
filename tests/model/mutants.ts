// Ways in which the design could be wrong. Each is the real step with one rule taken away; the model must notice.
import { isTerminal } from "@aim/contract";
import type { Attempt } from "../../plane/execution/attempt.ts";
import { step, type Command, type Step } from "../../plane/execution/step.ts";
import type { StepFunction } from "./world.ts";

const withLease = (attempt: Attempt): Attempt =>
  attempt.leaseExpires === null ? attempt : { ...attempt, leaseExpires: Number.MAX_SAFE_INTEGER };

const alive = (attempt: Attempt): Attempt =>
  isTerminal(attempt.state) ? { ...attempt, state: "finalizing" } : attempt;

export const MUTANTS: Readonly<Record<string, StepFunction>> = {
  "completion does not look at the lease": (attempt, command, now) =>
    step(command.do === "complete" ? withLease(attempt) : attempt, command, now),
  "heartbeat revives a lease that is over": (attempt, command, now) =>
    step(command.do === "heartbeat" ? withLease(attempt) : attempt, command, now),
  "late completion overrides lost": (attempt, command, now) =>
    step(command.do === "complete" ? alive(attempt) : attempt, command, now),
  "reaper does not look at the lease": (attempt, command, now) => {
    const bare = { ...attempt, leaseExpires: attempt.leaseExpires === null ? null : 0 };
    return step(command.do === "reap" ? bare : attempt, command, now);
  },
  "a lost attempt is leased again": (attempt, command, now) =>
    step(
      command.do === "claim" && attempt.state === "lost"
        ? { ...attempt, state: "queued" }
        : attempt,
      command,
      now,
    ),
  "a claim takes a leased attempt": (attempt, command, now) =>
    step(
      command.do === "claim" && attempt.state === "leased" && attempt.runner !== command.runner
        ? { ...attempt, state: "queued" }
        : attempt,
      command,
      now,
    ),
  // Alone each of the two survives: an attempt is leased once, so they back each other up.
  "neither the claim nor the epoch is compared": (attempt, command, now) => {
    if (command.do === "claim" && attempt.state === "leased") {
      return step({ ...attempt, state: "queued" }, command, now);
    }
    return step(attempt, "epoch" in command ? { ...command, epoch: attempt.epoch } : command, now);
  },
  "cancelled needs no proof": (attempt, command, now) => step(attempt, proved(command), now),
  "timed out needs no deadline": (attempt, command, now) =>
    step(command.do === "complete" ? { ...attempt, deadline: 0 } : attempt, command, now),
  "lost always means no effect": (attempt, command, now) => {
    const made: Step = step(attempt, command, now);
    return made.changes.state === "lost"
      ? { ...made, changes: { ...made.changes, effect: "none" } }
      : made;
  },
  "a cancel reaches terminal attempts": (attempt, command, now) =>
    command.do === "cancel" && isTerminal(attempt.state)
      ? { ok: true, changes: { state: "cancelling" } }
      : step(attempt, command, now),
  "anybody may report cancelled": (attempt, command, now) => {
    const reports = command.do === "complete" && command.report.verdict === "cancelled";
    const live = !isTerminal(attempt.state) && attempt.state !== "queued";
    return step(reports && live ? { ...attempt, state: "cancelling" } : attempt, command, now);
  },
};

function proved(command: Command): Command {
  if (command.do !== "complete") return command;
  return { ...command, report: { ...command.report, killConfirmed: true } };
}
