// Whether another attempt of a job makes sense, and from when on it is safe. Pure; the plane itself never retries.
import {
  isTerminal,
  type FailureCategory,
  type ProblemCode,
  type RetryReason,
} from "@aim/contract";
import { JOB_TYPES } from "@aim/drivers/schemas";
import type { Attempt, Job } from "./attempt.ts";

export interface Retry {
  readonly retryable: "yes" | "no" | "ask";
  /** Plane time in milliseconds; null when no retry makes sense. */
  readonly safeAt: number | null;
  readonly reason: RetryReason;
}

/** A lost runner's sandbox ends itself when its lease does; its clock may be this much behind ours. */
export const SKEW_MS = 5_000;

/** The same spec meets the same refusal. */
const INVALID: ReadonlySet<FailureCategory> = new Set([
  "invalid_spec",
  "policy_denied",
  "source_untrusted",
]);

const ANSWERS: Readonly<Record<RetryReason, Retry["retryable"]>> = {
  succeeded: "no",
  invalid: "no",
  forbidden_by_type: "no",
  never_started: "yes",
  dry_run: "yes",
  tool_failed: "ask",
  effect_unknown: "ask",
};

/** Null while the attempt lives. */
export function retryOf(attempt: Attempt, job: Job): Retry | null {
  if (!isTerminal(attempt.state)) return null;
  const reason = reasonOf(attempt, job);
  const retryable = ANSWERS[reason];
  const lost = attempt.state === "lost" || !attempt.killConfirmed;
  const safeAt = (attempt.ended ?? 0) + (lost ? SKEW_MS : 0);
  return { retryable, safeAt: retryable === "no" ? null : safeAt, reason };
}

function reasonOf({ state, effect, failureCategory }: Attempt, { spec }: Job): RetryReason {
  if (state === "succeeded") return "succeeded";
  if (failureCategory !== null && INVALID.has(failureCategory)) return "invalid";
  if (effect === "none") return "never_started";
  const type = JOB_TYPES.get(spec.job_type);
  if (type?.effect === "none" && type.retryAfterLoss === "safe") return "dry_run";
  if (effect === "complete") return "tool_failed";
  return type?.retryAfterLoss === "never" ? "forbidden_by_type" : "effect_unknown";
}

export interface Wish {
  readonly last: Attempt;
  readonly job: Job;
  /** Somebody looked at the targets. */
  readonly confirmed: boolean;
  readonly now: number;
}

/** Why a new attempt is refused, or null. */
export function mayRetry({ last, job, confirmed, now }: Wish): ProblemCode | null {
  const retry = retryOf(last, job);
  if (retry === null) return "state_conflict";
  if (retry.retryable === "no" || retry.safeAt === null) return "retry_refused";
  if (retry.retryable === "ask" && !confirmed) return "retry_unconfirmed";
  return now < retry.safeAt ? "retry_too_early" : null;
}
