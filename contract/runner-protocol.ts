// What a runner and the plane say to each other. A runner writes only for its own (attempt, epoch).
import { Type, type Static } from "typebox";
import { EVENT_SEQUENCE_MAX, RunEventSchema } from "./events.ts";
import { AttemptIdSchema, JobIdSchema, RunnerInstanceIdSchema, Sha256Schema } from "./ids.ts";
import { BundleFileSchema, JobSpecSchema } from "./job-spec.ts";
import { OutcomeSchema } from "./outcome.ts";
import { EvidenceSchema } from "./states.ts";

const closed = { additionalProperties: false } as const;
const epoch = Type.Integer({ minimum: 1 });
const milliseconds = Type.Integer({ minimum: 0 });

export const RuntimeFactsSchema = Type.Object(
  {
    ansible_core: Type.String({ maxLength: 64 }),
    python: Type.String({ maxLength: 64 }),
    callback_digest: Sha256Schema,
    isolation: Type.String({ maxLength: 64 }),
    sandbox_checks: Type.Object({ passed: Type.Integer(), failed: Type.Integer() }, closed),
  },
  closed,
);
export type RuntimeFacts = Static<typeof RuntimeFactsSchema>;

export const RegisterSchema = Type.Object(
  {
    runner_instance_id: RunnerInstanceIdSchema,
    runner_kind: Type.Literal("process"),
    job_types: Type.Array(Type.String(), { maxItems: 100 }),
    runtime: RuntimeFactsSchema,
    slots: Type.Integer({ minimum: 1, maximum: 256 }),
  },
  closed,
);
export type Register = Static<typeof RegisterSchema>;

export const RegisteredSchema = Type.Object(
  {
    lease_ms: milliseconds,
    /** For every further call of a remote runner; null on the local socket, which needs none. */
    session: Type.Union([
      Type.Object({ token: Type.String(), renew_after_ms: milliseconds }, closed),
      Type.Null(),
    ]),
  },
  closed,
);
export type Registered = Static<typeof RegisteredSchema>;

export const ClaimRequestSchema = Type.Object(
  {
    runner_instance_id: RunnerInstanceIdSchema,
    /** A repeated claim with the same id gets the same answer. */
    claim_id: Type.String({ pattern: "^clm_[0-9a-z]{26}$" }),
    wait_ms: Type.Integer({ minimum: 0, maximum: 30_000 }),
  },
  closed,
);
export type ClaimRequest = Static<typeof ClaimRequestSchema>;

export const AttemptGrantSchema = Type.Object(
  {
    kind: Type.Literal("attempt"),
    attempt_id: AttemptIdSchema,
    job_id: JobIdSchema,
    epoch,
    lease_ms: milliseconds,
    /** Milliseconds until the attempt's deadline when the grant was written. */
    deadline_ms: milliseconds,
    spec: JobSpecSchema,
    files: Type.Array(BundleFileSchema),
  },
  closed,
);
export type AttemptGrant = Static<typeof AttemptGrantSchema>;

export const InspectionGrantSchema = Type.Object(
  {
    kind: Type.Literal("inspection"),
    inspection_id: Type.String({ pattern: "^ins_[0-9a-z]{26}$" }),
    job_type: Type.String(),
    inputs: Type.Record(Type.String(), Type.Unknown()),
    files: Type.Array(BundleFileSchema),
    timeout_ms: milliseconds,
  },
  closed,
);
export type InspectionGrant = Static<typeof InspectionGrantSchema>;

/** The runner is asked to finish what it holds, to take nothing more and to end. */
export const DrainGrantSchema = Type.Object({ kind: Type.Literal("drain") }, closed);

export const GrantSchema = Type.Union([
  AttemptGrantSchema,
  InspectionGrantSchema,
  DrainGrantSchema,
]);
export type Grant = Static<typeof GrantSchema>;

export const InspectionReportSchema = Type.Object(
  {
    runner_instance_id: RunnerInstanceIdSchema,
    /** The driver's own answer; its schema stands with the driver. */
    inspection: Type.Unknown(),
  },
  closed,
);

/** Counters only: a heartbeat never carries text. */
export const HeartbeatSchema = Type.Object(
  {
    epoch,
    seq: Type.Integer({ minimum: 1 }),
    phase: Type.Enum(["preparing", "running", "finalizing", "stopping"]),
    last_event_sequence: Type.Integer({ minimum: 0 }),
    events_lost: Type.Integer({ minimum: 0 }),
  },
  closed,
);
export type Heartbeat = Static<typeof HeartbeatSchema>;

export const HeartbeatAnswerSchema = Type.Object(
  {
    lease_ms: milliseconds,
    /** Set once somebody asked for a stop: how long the tool may take to end by itself. */
    cancel: Type.Union([Type.Object({ grace_ms: milliseconds }, closed), Type.Null()]),
  },
  closed,
);
export type HeartbeatAnswer = Static<typeof HeartbeatAnswerSchema>;

export const MoveSchema = Type.Object(
  { epoch, to: Type.Enum(["preparing", "running", "finalizing"]) },
  closed,
);
export type Move = Static<typeof MoveSchema>;

export const EVENTS_PER_BATCH_MAX = 128;

export const EventBatchSchema = Type.Object(
  {
    epoch,
    events: Type.Array(RunEventSchema, { maxItems: EVENTS_PER_BATCH_MAX }),
    /** Events dropped at the source since the attempt began. */
    lost: Type.Integer({ minimum: 0, maximum: EVENT_SEQUENCE_MAX }),
  },
  closed,
);
export type EventBatch = Static<typeof EventBatchSchema>;

/** Relative, at most four segments, none of which can lead upwards. */
export const ARTIFACT_PATH_PATTERN = "^[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*){0,3}$";

/** A sha256-named part of the bundle; the bytes travel beside it. */
export const ArtifactFileSchema = Type.Object(
  {
    path: Type.String({ pattern: ARTIFACT_PATH_PATTERN, maxLength: 255 }),
    kind: Type.Enum(["log", "result", "events", "evidence"]),
    sha256: Sha256Schema,
    size: Type.Integer({ minimum: 0 }),
  },
  closed,
);
export type ArtifactFile = Static<typeof ArtifactFileSchema>;

export const ManifestSchema = Type.Object(
  {
    manifest_version: Type.Literal("1.0"),
    attempt_id: AttemptIdSchema,
    job_type: Type.String(),
    files: Type.Array(ArtifactFileSchema, { maxItems: 1000 }),
    redaction: Type.Object(
      {
        applied: Type.Boolean(),
        rules_version: Type.Integer(),
        masked: Type.Integer(),
        weak: Type.Boolean(),
      },
      closed,
    ),
    sandbox: Type.Object(
      {
        kind: Type.String(),
        version: Type.String(),
        isolation: Type.Array(Type.String()),
        egress_allowed: Type.Integer(),
        egress_denied: Type.Integer(),
      },
      closed,
    ),
    evidence: EvidenceSchema,
  },
  closed,
);
export type Manifest = Static<typeof ManifestSchema>;

export const CompletionSchema = Type.Object(
  {
    epoch,
    outcome: OutcomeSchema,
    kill_confirmed: Type.Boolean(),
    manifest: ManifestSchema,
    /** The plane numbers its own last event behind it. */
    last_event_sequence: Type.Integer({ minimum: 0, maximum: EVENT_SEQUENCE_MAX - 1 }),
    events_lost: Type.Integer({ minimum: 0, maximum: EVENT_SEQUENCE_MAX }),
  },
  closed,
);
export type Completion = Static<typeof CompletionSchema>;

/** An artifact travels in chunks of at most this many bytes, in order. */
export const UPLOAD_CHUNK_BYTES_MAX = 4 * 1024 * 1024;

/** The answer to a chunk: how many bytes of the artifact are kept so far. */
export const UploadedSchema = Type.Object(
  { received: Type.Integer({ minimum: 0 }), complete: Type.Boolean() },
  closed,
);
export type Uploaded = Static<typeof UploadedSchema>;

export const EpochSchema = Type.Object({ epoch }, closed);
