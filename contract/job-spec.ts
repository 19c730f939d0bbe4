// One durable request to do one thing. Secrets stand in it only as references.
import { Type, type Static } from "typebox";
import { CallbackSchema, CALLBACKS_MAX } from "./callbacks.ts";
import { CatalogIdSchema, CorrelationIdSchema, Sha256Schema } from "./ids.ts";
import { NetworkRuleSchema } from "./request.ts";

export const API_VERSION = "1.0";

/** `vault://mount/path#field`: names a secret, holds none. */
export const SecretReferenceSchema = Type.String({
  pattern: "^vault://[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+#[A-Za-z0-9._-]+$",
  maxLength: 512,
});

export const SlotNameSchema = Type.String({ pattern: "^[a-z][a-z0-9_]{0,62}$" });

export const RunnerRequirementsSchema = Type.Object(
  {
    runner_kind: Type.Literal("process"),
    network: Type.Array(NetworkRuleSchema, { maxItems: 20_000 }),
    memory_bytes: Type.Integer({ minimum: 64 * 1024 * 1024, maximum: 64 * 1024 ** 3 }),
    disk_bytes: Type.Integer({ minimum: 1024 * 1024, maximum: 64 * 1024 ** 3 }),
    pids: Type.Integer({ minimum: 16, maximum: 32_768 }),
  },
  { additionalProperties: false },
);
export type RunnerRequirements = Static<typeof RunnerRequirementsSchema>;

export const SecretSchema = Type.Object(
  {
    from: Type.Union([SecretReferenceSchema, Type.Literal("caller")]),
    delivery: Type.Enum(["fd", "file"]),
  },
  { additionalProperties: false },
);

/** Made by the caller; one key of a customer makes one job. */
export const IdempotencyKeySchema = Type.String({ minLength: 1, maxLength: 255 });

export const JobSpecSchema = Type.Object(
  {
    api_version: Type.Literal(API_VERSION),
    job_type: Type.String({ pattern: "^[a-z]+(\\.[a-z_]+){1,3}$" }),
    idempotency_key: IdempotencyKeySchema,
    customer: CatalogIdSchema,
    operation_id: Type.Optional(CorrelationIdSchema),
    plan_node_id: Type.Optional(CorrelationIdSchema),
    node_run_id: Type.Optional(CorrelationIdSchema),
    inputs: Type.Record(Type.String(), Type.Unknown()),
    source: Type.Object({ bundle_digest: Sha256Schema }, { additionalProperties: false }),
    secrets: Type.Record(SlotNameSchema, SecretSchema),
    destructive: Type.Boolean(),
    timeout_s: Type.Integer({ minimum: 1, maximum: 7 * 24 * 3600 }),
    grace_s: Type.Integer({ minimum: 0, maximum: 3600 }),
    runner_requirements: RunnerRequirementsSchema,
    diagnostics: Type.Literal("off"),
    callbacks: Type.Optional(Type.Array(CallbackSchema, { maxItems: CALLBACKS_MAX })),
  },
  { additionalProperties: false },
);
export type JobSpec = Static<typeof JobSpecSchema>;

/** A file of a bundle: its place in the workspace and its bytes by digest. */
export const BundleFileSchema = Type.Object(
  {
    path: Type.String({ minLength: 1, maxLength: 4096 }),
    sha256: Sha256Schema,
    size: Type.Integer({ minimum: 0 }),
    executable: Type.Boolean(),
  },
  { additionalProperties: false },
);
export type BundleFile = Static<typeof BundleFileSchema>;

/** Largest bundle: files, bytes in one file, bytes together, and bytes of one path. */
export const BUNDLE_FILES_MAX = 20_000;
export const BUNDLE_FILE_BYTES_MAX = 64 * 1024 * 1024;
export const BUNDLE_BYTES_MAX = 256 * 1024 * 1024;
export const BUNDLE_PATH_BYTES_MAX = 1024;
