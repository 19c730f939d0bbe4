// Jobs as a control plane sees them: accepted once for each key, read, cancelled, tried again.
import {
  AimError,
  canonicalJson,
  type AcceptedJob,
  type AttemptState,
  type JobRequest,
  type JobSpec,
  type JobView,
  type Principal,
  type RetryRequest,
} from "@aim/contract";
import { allowed, type AuditEntry } from "../audit/chain.ts";
import { scopeOf } from "../auth/can.ts";
import { waitingAttempt, type Attempt, type Job } from "../execution/attempt.ts";
import { CLAIM_TOPIC, OUTBOX_TOPIC } from "../execution/dispatcher.ts";
import type { CreatedJob } from "../store/uses/create-job.ts";
import type { CoreParts } from "./parts.ts";
import { acceptedView, attemptView, jobView } from "./job-views.ts";
import { findJob, requireIn } from "./rights.ts";
import { checkContent, checkSpec } from "./spec-policy.ts";

export interface JobQuery {
  readonly before: string | null;
  readonly state: AttemptState | null;
  readonly customer: string | null;
  readonly limit: number;
}

export interface RetryWish {
  readonly jobId: string;
  readonly request: RetryRequest;
}

export interface Jobs {
  /** Answers the same for the same key and spec; idempotency_mismatch for another spec. */
  readonly accept: (who: Principal, request: JobRequest) => Promise<AcceptedJob>;
  readonly retry: (who: Principal, wish: RetryWish) => Promise<AcceptedJob>;
  readonly read: (who: Principal, jobId: string) => Promise<JobView>;
  /** Those that the principal may read. */
  readonly list: (who: Principal, query: JobQuery) => Promise<JobView[]>;
  /** Asks the newest attempt to stop; nothing happens when it has ended. */
  readonly cancel: (who: Principal, jobId: string) => Promise<JobView>;
}

export function createJobs(parts: CoreParts): Jobs {
  async function read(who: Principal, jobId: string): Promise<JobView> {
    const { job, attempts } = await findJob(parts.store, { who, action: "job.read", jobId });
    const views = attempts.map((attempt) => attemptView(attempt, job));
    return jobView(job, attempts.length, views);
  }

  async function cancel(who: Principal, jobId: string): Promise<JobView> {
    const { job, attempts } = await findJob(parts.store, { who, action: "job.cancel", jobId });
    const newest = attempts.at(-1);
    if (newest === undefined) throw new AimError("not_found");
    await parts.dispatcher.cancel(newest.id, cancelEntry(parts, { who, job, runId: newest.id }));
    return read(who, jobId);
  }

  async function list(who: Principal, query: JobQuery): Promise<JobView[]> {
    const found = await parts.store.listJobs({ ...query, scope: scopeOf(who, "job.read") });
    return found.map(({ job, newest }) =>
      jobView(job, newest.number, [{ ...attemptView(newest, job), result: null }]),
    );
  }

  return {
    accept: (who, request) => accept(parts, who, request),
    retry: (who, wish) => retry(parts, who, wish),
    read,
    list,
    cancel,
  };
}

/** What the audit is told of somebody who cancels. */
export function cancelEntry(
  parts: Pick<CoreParts, "clock">,
  of: { readonly who: Principal; readonly job: Job; readonly runId: string },
): AuditEntry {
  const { job, runId, who } = of;
  return allowed(who, {
    action: "job.cancel",
    customer: job.customer,
    what: { job_id: job.id, run_id: runId },
    now: parts.clock.now(),
  });
}

async function accept(parts: CoreParts, who: Principal, request: JobRequest): Promise<AcceptedJob> {
  const { spec } = request;
  const { customer, job_type: jobType } = spec;
  requireIn(who, "job.execute", { customer, jobType, code: "unknown_customer" });
  await requireNoWayRound(parts, who, customer);
  checkSpec(spec);
  const before = await parts.store.readAccepted({ customer, key: spec.idempotency_key });
  if (before !== null) {
    const same = before.job.requestDigest === parts.digest(canonicalJson(spec));
    if (!same) throw new AimError("idempotency_mismatch");
    return acceptedView(before.first, before.job);
  }
  const digest = spec.source.bundle_digest;
  const files = await parts.store.readBundle({ customer, digest });
  if (files === null) throw new AimError("bundle_unknown", "/spec/source/bundle_digest");
  await checkContent(parts, spec, files);
  const { credentials_id: credentials } = request;
  const wanted = {
    spec,
    credentials,
    title: jobType,
    playbook: jobType,
    revision: null,
    approvedBy: null,
  };
  const { attempt, job } = await acceptJob(parts, who, wanted);
  return acceptedView(attempt, job);
}

/** A control plane has approvals of its own; a person does not go round those of the catalog. */
async function requireNoWayRound(
  parts: CoreParts,
  who: Principal,
  customer: string,
): Promise<void> {
  const person = who.kind === "user" || who.kind === "token";
  if (person && (await parts.asksApproval(customer))) throw new AimError("approval_required");
}

export interface NewJob {
  readonly spec: JobSpec;
  /** Id under which the caller's credentials were handed over. */
  readonly credentials: string | undefined;
  readonly title: string;
  /** Catalog id; the job type of a job that came as a spec. */
  readonly playbook: string;
  /** The reviewed revision that this job uses up, or null. */
  readonly revision: string | null;
  /** Name of whoever approved the revision; null where none had to. */
  readonly approvedBy: string | null;
}

/** Makes the job durable and wakes whoever waits for it. From then on it goes on by itself. */
export async function acceptJob(
  parts: CoreParts,
  who: Principal,
  wanted: NewJob,
): Promise<{ readonly attempt: Attempt; readonly job: Job; readonly fresh: boolean }> {
  const { spec, revision, credentials } = wanted;
  const now = parts.clock.now();
  const attempt = waitingAttempt({
    id: parts.newId("run"),
    jobId: parts.newId("job"),
    customer: spec.customer,
    number: 1,
    deadline: now + spec.timeout_s * 1000,
    graceMs: spec.grace_s * 1000,
    created: now,
  });
  const job: Job = {
    id: attempt.jobId,
    customer: spec.customer,
    playbook: wanted.playbook,
    title: wanted.title,
    idempotencyKey: spec.idempotency_key,
    requestDigest: parts.digest(canonicalJson(spec)),
    spec,
    bundleDigest: spec.source.bundle_digest,
    created: now,
    owner: who.id,
    approvedBy: wanted.approvedBy,
  };
  const handover = { job, credentials, attemptId: attempt.id };
  const created = await withCredentials(parts, handover, () =>
    parts.store.createJob({
      job,
      attempt,
      revision,
      audit: allowed(who, {
        action: "job.execute",
        customer: job.customer,
        what: {
          job_id: job.id,
          run_id: attempt.id,
          bundle_digest: job.bundleDigest,
          ...(revision === null ? {} : { revision }),
        },
        now,
      }),
    }),
  );
  return { ...created, job };
}

async function retry(
  parts: CoreParts,
  who: Principal,
  { jobId, request }: RetryWish,
): Promise<AcceptedJob> {
  const { job } = await findJob(parts.store, { who, action: "job.retry", jobId });
  const before = await parts.store.readRetry({ jobId, key: request.idempotency_key });
  if (before !== null) return acceptedView(before, job);
  const handover = {
    job,
    credentials: request.credentials_id,
    attemptId: parts.newId("run"),
  };
  const now = parts.clock.now();
  const confirmed = request.confirm ?? false;
  const { attempt } = await withCredentials(parts, handover, () =>
    parts.store.createAttempt({
      jobId,
      id: handover.attemptId,
      idempotencyKey: request.idempotency_key,
      confirmed,
      now,
      audit: allowed(who, {
        action: "job.retry",
        customer: job.customer,
        what: { job_id: jobId, run_id: handover.attemptId },
        detail: { confirmed },
        now,
      }),
    }),
  );
  return acceptedView(attempt, job);
}

interface Handover {
  readonly job: Job;
  readonly credentials: string | undefined;
  readonly attemptId: string;
}

/** Credentials are in place before the attempt can be claimed, and gone when it was not made. */
async function withCredentials(
  parts: CoreParts,
  { job, credentials, attemptId }: Handover,
  create: () => Promise<CreatedJob>,
): Promise<Extract<CreatedJob, { ok: true }>> {
  if (!(await parts.mayExecute())) throw new AimError("not_enabled");
  if (!parts.dispatcher.admitting) throw new AimError("shutting_down");
  parts.credentials.assign(credentials, attemptId, Object.keys(job.spec.secrets));
  let fresh = false;
  try {
    const created = await create();
    if (!created.ok) throw new AimError(created.code);
    ({ fresh } = created);
    if (created.told) parts.signals.wake(OUTBOX_TOPIC);
    if (fresh) {
      parts.signals.wake(CLAIM_TOPIC);
      const { attempt } = created;
      parts.observer.accepted({ attempt, job, runnerKind: null, now: attempt.created });
    }
    return created;
  } finally {
    if (!fresh) parts.credentials.drop(attemptId);
  }
}
