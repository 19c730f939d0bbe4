// Between rows and attempts. The one place that knows both spellings.
import type { Insertable, Selectable } from "kysely";
import type {
  AttemptState,
  Effect,
  Evidence,
  FailureCategory,
  JobSpec,
  RemoteWork,
  RunResult,
} from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import type { Schema } from "../schema.ts";

export function attemptOf(row: Selectable<Schema["attempts"]>): Attempt {
  return {
    id: row.id,
    jobId: row.job_id,
    customer: row.customer_id,
    number: row.number,
    state: row.state as AttemptState,
    effect: row.effect as Effect,
    evidence: row.evidence as Evidence,
    killConfirmed: row.kill_confirmed === 1,
    failureCategory: row.failure_category as FailureCategory | null,
    remoteWork: row.remote_work as RemoteWork,
    epoch: row.epoch,
    runner: row.runner,
    claimId: row.claim_id,
    leaseExpires: row.lease_expires_ms,
    deadline: row.deadline_ms,
    graceMs: row.grace_ms,
    created: row.created_ms,
    started: row.started_ms,
    ended: row.ended_ms,
    cancelRequested: row.cancel_requested_ms,
    everRunning: row.ever_running === 1,
    terminalDigest: row.terminal_digest,
    lastSequence: row.last_sequence,
    eventsLost: row.events_lost,
    manifestDigest: row.manifest_digest,
    result: row.result === null ? null : (JSON.parse(row.result) as RunResult),
  };
}

/** Whole milliseconds: the columns are integers in both dialects. */
function ms(time: number | null): number | null {
  return time === null ? null : Math.round(time);
}

export function attemptRow(attempt: Attempt, jobType: string): Insertable<Schema["attempts"]> {
  return {
    id: attempt.id,
    job_id: attempt.jobId,
    customer_id: attempt.customer,
    number: attempt.number,
    job_type: jobType,
    ...mutableColumns(attempt),
    deadline_ms: Math.round(attempt.deadline),
    grace_ms: attempt.graceMs,
    created_ms: Math.round(attempt.created),
  };
}

/** The columns that a step may change. */
export function mutableColumns(attempt: Attempt) {
  return {
    state: attempt.state,
    effect: attempt.effect,
    evidence: attempt.evidence,
    kill_confirmed: Number(attempt.killConfirmed),
    failure_category: attempt.failureCategory,
    remote_work: attempt.remoteWork,
    epoch: attempt.epoch,
    runner: attempt.runner,
    claim_id: attempt.claimId,
    lease_expires_ms: ms(attempt.leaseExpires),
    started_ms: ms(attempt.started),
    ended_ms: ms(attempt.ended),
    cancel_requested_ms: ms(attempt.cancelRequested),
    ever_running: Number(attempt.everRunning),
    terminal_digest: attempt.terminalDigest,
    last_sequence: attempt.lastSequence,
    events_lost: attempt.eventsLost,
    manifest_digest: attempt.manifestDigest,
    result: attempt.result === null ? null : JSON.stringify(attempt.result),
  };
}

export function jobOf(row: Selectable<Schema["jobs"]>): Job {
  return {
    id: row.id,
    customer: row.customer_id,
    playbook: row.playbook,
    title: row.title,
    idempotencyKey: row.idempotency_key,
    requestDigest: row.request_digest,
    spec: JSON.parse(row.spec) as JobSpec,
    bundleDigest: row.bundle_digest,
    created: row.created_ms,
    owner: row.owner,
    approvedBy: row.approved_by,
  };
}
