// The Core operations: one JSON object in, JSON lines out, the same over `aimctl request` and HTTP.
import { Type, type Static } from "typebox";
import { CapabilitiesSchema } from "./capabilities.ts";
import { ProblemSchema } from "./errors.ts";
import { RunEventSchema, type RunEvent } from "./events.ts";
import { AttemptIdSchema, Sha256Schema, TimestampSchema } from "./ids.ts";
import { API_VERSION } from "./job-spec.ts";
import { RunResultSchema } from "./outcome.ts";
import { NormalizedRequestSchema, PreparedSchema, RunRequestSchema } from "./request.ts";
import { AttemptStateSchema } from "./states.ts";

/** Largest operation accepted, in bytes of its line. */
export const OPERATION_BYTES_MAX = 1024 * 1024;

const version = { api_version: Type.Literal(API_VERSION) };
const closed = { additionalProperties: false } as const;

export const OPERATION_SCHEMAS = {
  capabilities: Type.Object({ ...version, operation: Type.Literal("capabilities") }, closed),
  prepare: Type.Object(
    { ...version, operation: Type.Literal("prepare"), request: RunRequestSchema },
    closed,
  ),
  execute: Type.Object(
    {
      ...version,
      operation: Type.Literal("execute"),
      request: NormalizedRequestSchema,
      revision: Sha256Schema,
      /** Names credentials that were handed over privately just before; never holds one. */
      credentials_id: Type.Optional(Type.String({ pattern: "^crd_[0-9a-z]{26}$" })),
    },
    closed,
  ),
  status: Type.Object(
    { ...version, operation: Type.Literal("status"), run_id: AttemptIdSchema },
    closed,
  ),
  cancel: Type.Object(
    { ...version, operation: Type.Literal("cancel"), run_id: AttemptIdSchema },
    closed,
  ),
} as const;

export type OperationName = keyof typeof OPERATION_SCHEMAS;
export const OPERATION_NAMES = Object.keys(OPERATION_SCHEMAS) as readonly OperationName[];
export type OperationOf<N extends OperationName> = Static<(typeof OPERATION_SCHEMAS)[N]>;
export type Operation = { [N in OperationName]: OperationOf<N> }[OperationName];

export const RunStatusSchema = Type.Object(
  {
    run_id: AttemptIdSchema,
    customer: Type.String(),
    playbook: Type.String(),
    /** Of the catalog entry; a personal project's is the name of its playbook file. */
    title: Type.String(),
    job_type: Type.String(),
    /** Number of requested hosts. */
    hosts: Type.Integer({ minimum: 0 }),
    state: AttemptStateSchema,
    created_at: TimestampSchema,
    started_at: Type.Union([TimestampSchema, Type.Null()]),
    ended_at: Type.Union([TimestampSchema, Type.Null()]),
    cancel_requested_at: Type.Union([TimestampSchema, Type.Null()]),
    /** The final result once the state is terminal; a list of runs leaves it out. */
    result: Type.Union([RunResultSchema, Type.Null()]),
  },
  closed,
);
export type RunStatus = Static<typeof RunStatusSchema>;

export const EventLineSchema = Type.Object(
  { type: Type.Literal("event"), event: RunEventSchema },
  closed,
);
export const ErrorLineSchema = Type.Object(
  { type: Type.Literal("error"), error: ProblemSchema },
  closed,
);
export const RESPONSE_SCHEMAS = {
  capabilities: CapabilitiesSchema,
  prepare: PreparedSchema,
  execute: RunResultSchema,
  status: RunStatusSchema,
  cancel: RunStatusSchema,
} as const satisfies Record<OperationName, unknown>;
export type ResponseOf<N extends OperationName> = Static<(typeof RESPONSE_SCHEMAS)[N]>;

/** One line of an answer. */
export type WireLine =
  | { type: "event"; event: RunEvent }
  | { type: "response"; response: unknown }
  | { type: "error"; error: Static<typeof ProblemSchema> };
