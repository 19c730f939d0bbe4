// Jobs and attempts as clients read them. Pure.
import type { AcceptedJob, AttemptView, JobView, RetryHint } from "@aim/contract";
import { formatOrNull, formatTimestamp } from "../base/clock.ts";
import type { Attempt, Job } from "../execution/attempt.ts";
import { retryOf } from "../execution/retry.ts";

/** Of facts that never change: the same attempt is answered the same for ever. */
export function acceptedView(attempt: Attempt, job: Job): AcceptedJob {
  return {
    job_id: attempt.jobId,
    run_id: attempt.id,
    number: attempt.number,
    customer: attempt.customer,
    job_type: job.spec.job_type,
    // The store keeps whole milliseconds; the first answer must not say more than a later one can.
    accepted_at: formatTimestamp(Math.round(attempt.created)),
    deadline_at: formatTimestamp(Math.round(attempt.deadline)),
  };
}

export function attemptView(attempt: Attempt, job: Job): AttemptView {
  return {
    run_id: attempt.id,
    number: attempt.number,
    state: attempt.state,
    effect: attempt.effect,
    evidence: attempt.evidence,
    kill_confirmed: attempt.killConfirmed,
    remote_work: attempt.remoteWork,
    failure_category: attempt.failureCategory,
    epoch: attempt.epoch,
    runner_instance_id: attempt.runner,
    created_at: formatTimestamp(attempt.created),
    started_at: formatOrNull(attempt.started),
    ended_at: formatOrNull(attempt.ended),
    deadline_at: formatTimestamp(attempt.deadline),
    cancel_requested_at: formatOrNull(attempt.cancelRequested),
    retry: retryHint(attempt, job),
    result: attempt.result,
  };
}

function retryHint(attempt: Attempt, job: Job): RetryHint | null {
  const retry = retryOf(attempt, job);
  if (retry === null) return null;
  const { retryable, safeAt, reason } = retry;
  return { retryable, safe_to_retry_at: formatOrNull(safeAt), reason };
}

export function jobView(job: Job, count: number, attempts: readonly AttemptView[]): JobView {
  const { spec } = job;
  return {
    job_id: job.id,
    customer: job.customer,
    job_type: spec.job_type,
    title: job.title,
    idempotency_key: job.idempotencyKey,
    operation_id: spec.operation_id ?? null,
    plan_node_id: spec.plan_node_id ?? null,
    node_run_id: spec.node_run_id ?? null,
    created_at: formatTimestamp(job.created),
    ...(job.approvedBy === null ? {} : { approved_by: job.approvedBy }),
    attempt_count: count,
    attempts: [...attempts],
  };
}
