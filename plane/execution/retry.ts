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

/** Null while the attempt lives. */
export function retryOf(attempt: Attempt, job: Job): Retry | null {
  if (!isTerminal(attempt.state)) return null;
  if (attempt.state === "succeeded") return { retryable: "no", safeAt: null, reason: "succeeded" };
  if (attempt.failureCategory !== null && INVALID.has(attempt.failureCategory)) {
    return { retryable: "no", safeAt: null, reason: "invalid" };
  }
  const lost = attempt.state === "lost" || !attempt.killConfirmed;
  const safeAt = (attempt.ended ?? 0) + (lost ? SKEW_MS : 0);
  const type = JOB_TYPES.get(job.spec.job_type);
  if (attempt.effect === "none") return { retryable: "yes", safeAt, reason: "never_started" };
  if (type?.effect === "none" && type.retryAfterLoss === "safe") {
    return { retryable: "yes", safeAt, reason: "dry_run" };
  }
  if (attempt.effect === "complete") return { retryable: "ask", safeAt, reason: "tool_failed" };
  return type?.retryAfterLoss === "never"
    ? { retryable: "no", safeAt: null, reason: "forbidden_by_type" }
    : { retryable: "ask", safeAt, reason: "effect_unknown" };
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
