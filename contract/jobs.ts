// The job API: what a control plane sends to have one thing done, and what it reads of it afterwards.
import { Type, type Static } from "typebox";
import { AttemptIdSchema, CatalogIdSchema, CorrelationIdSchema } from "./ids.ts";
import { JobIdSchema, RunnerInstanceIdSchema, Sha256Schema, TimestampSchema } from "./ids.ts";
import {
  BUNDLE_FILES_MAX,
  BundleFileSchema,
  IdempotencyKeySchema,
  JobSpecSchema,
} from "./job-spec.ts";
import { RunResultSchema } from "./outcome.ts";
import {
  AttemptStateSchema,
  EffectSchema,
  EvidenceSchema,
  FailureCategorySchema,
  RemoteWorkSchema,
} from "./states.ts";

const closed = { additionalProperties: false } as const;
const orNull = <S extends Type.TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const CredentialsIdSchema = Type.String({ pattern: "^crd_[0-9a-z]{26}$" });

/** Largest job that is accepted, in bytes of its body. */
export const JOB_BYTES_MAX = 4 * 1024 * 1024;

export const JobRequestSchema = Type.Object(
  {
    spec: JobSpecSchema,
    /** Names credentials that were handed over privately just before; never holds one. */
    credentials_id: Type.Optional(CredentialsIdSchema),
  },
  closed,
);
export type JobRequest = Static<typeof JobRequestSchema>;

/** The answer to an accepted job or retry. The same request is answered the same, byte for byte, for ever. */
export const AcceptedSchema = Type.Object(
  {
    job_id: JobIdSchema,
    run_id: AttemptIdSchema,
    /** Number of the attempt within its job, from 1. */
    number: Type.Integer({ minimum: 1 }),
    customer: CatalogIdSchema,
    job_type: Type.String(),
    accepted_at: TimestampSchema,
    deadline_at: TimestampSchema,
  },
  closed,
);
export type AcceptedJob = Static<typeof AcceptedSchema>;

export const RetryRequestSchema = Type.Object(
  {
    /** Of its own: the same key makes one attempt, however often it is sent. */
    idempotency_key: IdempotencyKeySchema,
    /** Needed where the hint says `ask`: somebody has looked at the targets. */
    confirm: Type.Optional(Type.Boolean()),
    credentials_id: Type.Optional(CredentialsIdSchema),
  },
  closed,
);
export type RetryRequest = Static<typeof RetryRequestSchema>;

export const RETRY_REASONS = {
  succeeded: "The job is done.",
  never_started: "Nothing was sent to a target.",
  dry_run: "The job type changes nothing.",
  tool_failed: "Targets may be changed in part. A second run repeats what the job does.",
  effect_unknown: "Nobody knows what was done. Look at the targets first.",
  invalid: "The same content would be refused again.",
  forbidden_by_type: "The job type is never repeated after an unknown effect.",
} as const;
export type RetryReason = keyof typeof RETRY_REASONS;

/** Whether a new attempt makes sense. The plane itself never retries. */
export const RetryHintSchema = Type.Object(
  {
    retryable: Type.Enum(["yes", "no", "ask"]),
    /** Before this moment a former holder might still reach a target; null when no retry makes sense. */
    safe_to_retry_at: orNull(TimestampSchema),
    reason: Type.Enum(Object.keys(RETRY_REASONS) as RetryReason[]),
  },
  closed,
);
export type RetryHint = Static<typeof RetryHintSchema>;

export const AttemptSchema = Type.Object(
  {
    run_id: AttemptIdSchema,
    number: Type.Integer({ minimum: 1 }),
    state: AttemptStateSchema,
    effect: EffectSchema,
    evidence: EvidenceSchema,
    kill_confirmed: Type.Boolean(),
    remote_work: RemoteWorkSchema,
    failure_category: orNull(FailureCategorySchema),
    /** Number of the lease that holds or held it; 0 before the first. */
    epoch: Type.Integer({ minimum: 0 }),
    runner_instance_id: orNull(RunnerInstanceIdSchema),
    created_at: TimestampSchema,
    started_at: orNull(TimestampSchema),
    ended_at: orNull(TimestampSchema),
    deadline_at: TimestampSchema,
    cancel_requested_at: orNull(TimestampSchema),
    /** Null while the attempt lives. */
    retry: orNull(RetryHintSchema),
    /** Null while the attempt lives, and in lists. */
    result: orNull(RunResultSchema),
  },
  closed,
);
export type AttemptView = Static<typeof AttemptSchema>;

export const JobSchema = Type.Object(
  {
    job_id: JobIdSchema,
    customer: CatalogIdSchema,
    job_type: Type.String(),
    /** Of the catalog entry, else the job type. */
    title: Type.String(),
    idempotency_key: IdempotencyKeySchema,
    operation_id: orNull(CorrelationIdSchema),
    plan_node_id: orNull(CorrelationIdSchema),
    node_run_id: orNull(CorrelationIdSchema),
    created_at: TimestampSchema,
    /** Name of whoever approved its revision; absent where nobody had to. */
    approved_by: Type.Optional(Type.String()),
    attempt_count: Type.Integer({ minimum: 1 }),
    /** Oldest first; a list of jobs holds only the newest of each. */
    attempts: Type.Array(AttemptSchema),
  },
  closed,
);
export type JobView = Static<typeof JobSchema>;

export const JOBS_PER_PAGE_MAX = 200;

/** Exactly these files make the bundle; each must have been uploaded before. */
export const BundleSchema = Type.Object(
  {
    customer: CatalogIdSchema,
    files: Type.Array(BundleFileSchema, { minItems: 1, maxItems: BUNDLE_FILES_MAX }),
  },
  closed,
);
export type Bundle = Static<typeof BundleSchema>;

export const KeptBundleSchema = Type.Object({ bundle_digest: Sha256Schema }, closed);
export type KeptBundle = Static<typeof KeptBundleSchema>;

/** What an ended attempt took, for whoever bills it. Written with its end, never changed. */
export const UsageSchema = Type.Object(
  {
    run_id: AttemptIdSchema,
    job_id: JobIdSchema,
    customer: CatalogIdSchema,
    job_type: Type.String(),
    runner_kind: orNull(Type.String()),
    state: AttemptStateSchema,
    /** From the first lease to the end; 0 when no runner ever had it. */
    attempt_ms: Type.Integer({ minimum: 0 }),
    artifact_bytes: Type.Integer({ minimum: 0 }),
    ended_at: TimestampSchema,
    /** Place in the list: the next page begins after it. */
    cursor: Type.Integer({ minimum: 1 }),
  },
  closed,
);
export type Usage = Static<typeof UsageSchema>;
export const USAGE_PER_PAGE_MAX = 1000;

export const RUNNER_STATES = ["ready", "refused", "draining", "silent"] as const;
export type RunnerState = (typeof RUNNER_STATES)[number];

export const RunnerSchema = Type.Object(
  {
    runner_instance_id: RunnerInstanceIdSchema,
    /** The identity of its token; `local` for one on the plane's own machine. */
    name: Type.String(),
    runner_kind: Type.String(),
    /** `refused`: its sandbox checks failed; `silent`: not heard of for a minute. */
    state: Type.Enum([...RUNNER_STATES]),
    job_types: Type.Array(Type.String()),
    slots: Type.Integer({ minimum: 1 }),
    /** Attempts that it holds now. */
    held: Type.Integer({ minimum: 0 }),
    ansible_core: Type.String(),
    isolation: Type.String(),
    registered_at: TimestampSchema,
    seen_at: TimestampSchema,
  },
  closed,
);
export type RunnerView = Static<typeof RunnerSchema>;
