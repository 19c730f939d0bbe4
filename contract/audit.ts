// The audit: who did what or was refused it, as rows that are chained by their hashes, and the sealed head of the chain.
import { Type, type Static } from "typebox";
import { ACTION_NAMES, PRINCIPAL_KINDS, RoleSchema, type Action } from "./access.ts";
import { canonicalJson } from "./canonical-json.ts";
import { PROBLEM_CODES } from "./errors.ts";
import {
  AttemptIdSchema,
  CatalogIdSchema,
  EventIdSchema,
  JobIdSchema,
  RunnerInstanceIdSchema,
  Sha256Schema,
  TimestampSchema,
} from "./ids.ts";

const closed = { additionalProperties: false } as const;
const id = Type.String({ minLength: 1, maxLength: 128 });

export const AUDIT_PER_PAGE_MAX = 500;
/** What stands before the first row. */
export const AUDIT_GENESIS = "0".repeat(64);
export const AUDIT_HEAD_PAYLOAD_TYPE = "application/vnd.aim.audit-head+json";

export const AUDIT_OUTCOMES = ["allowed", "refused"] as const;

/** What it was done to. */
export const AuditObjectSchema = Type.Object(
  {
    job_id: Type.Optional(JobIdSchema),
    run_id: Type.Optional(AttemptIdSchema),
    revision: Type.Optional(Sha256Schema),
    bundle_digest: Type.Optional(Sha256Schema),
    runner_instance_id: Type.Optional(RunnerInstanceIdSchema),
    event_id: Type.Optional(EventIdSchema),
    user_id: Type.Optional(id),
    token_id: Type.Optional(id),
  },
  closed,
);
export type AuditObject = Static<typeof AuditObjectSchema>;

/** Closed: nothing that somebody typed finds a place here. */
export const AuditDetailSchema = Type.Object(
  {
    /** Why it was refused. */
    code: Type.Optional(Type.Enum([...PROBLEM_CODES])),
    /** Name of the route that was asked. */
    route: Type.Optional(Type.String({ pattern: "^[a-zA-Z]{1,40}$" })),
    callback_index: Type.Optional(Type.Integer({ minimum: 0 })),
    /** A retry after somebody looked at the targets. */
    confirmed: Type.Optional(Type.Boolean()),
    /** Controller whose acceptance was recorded, as the digest of its callback. */
    callback_digest: Type.Optional(Sha256Schema),
    /** Names of the secrets that were handed out; never a value. */
    slots: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 16 })),
    /** A backup that holds the installation's keys. */
    with_keys: Type.Optional(Type.Boolean()),
    /** Roles that a user or a token was given. `narrowed` where only for some job types. */
    roles: Type.Optional(
      Type.Array(
        Type.Object(
          {
            role: RoleSchema,
            customer: Type.Union([CatalogIdSchema, Type.Null()]),
            narrowed: Type.Boolean(),
          },
          closed,
        ),
        { maxItems: 100 },
      ),
    ),
    /** A user was disabled, or enabled again. */
    disabled: Type.Optional(Type.Boolean()),
    /** Execution was switched on or off. */
    enabled: Type.Optional(Type.Boolean()),
    /** Refusals of nobody in particular that came too fast to be written one by one before this row. */
    unrecorded: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  closed,
);
export type AuditDetail = Static<typeof AuditDetailSchema>;

export const AuditFactsSchema = Type.Object(
  {
    position: Type.Integer({ minimum: 1 }),
    at: TimestampSchema,
    /** Null for what belongs to no customer. */
    customer: Type.Union([Type.String(), Type.Null()]),
    /** Null for somebody who could not be told. */
    principal: Type.Union([
      Type.Object(
        { kind: Type.Enum([...PRINCIPAL_KINDS]), id: Type.String(), name: Type.String() },
        closed,
      ),
      Type.Null(),
    ]),
    action: Type.Enum([...ACTION_NAMES] as Action[]),
    outcome: Type.Enum([...AUDIT_OUTCOMES]),
    what: AuditObjectSchema,
    detail: AuditDetailSchema,
  },
  closed,
);
/** What a row tells: everything but its place in the chain. */
export type AuditFacts = Static<typeof AuditFactsSchema>;

export const AuditRowSchema = Type.Object(
  { ...AuditFactsSchema.properties, previous: Sha256Schema, hash: Sha256Schema },
  closed,
);
export type AuditRow = Static<typeof AuditRowSchema>;

/** The last row that there was at a moment. Position 0 stands for a chain without rows. */
export const AuditHeadSchema = Type.Object(
  { position: Type.Integer({ minimum: 0 }), hash: Sha256Schema, at: TimestampSchema },
  closed,
);
export type AuditHead = Static<typeof AuditHeadSchema>;

/** A DSSE envelope around the head in canonical JSON. Whoever keeps one elsewhere can see a chain that was cut. */
export const SealedAuditHeadSchema = Type.Object(
  {
    payloadType: Type.Literal(AUDIT_HEAD_PAYLOAD_TYPE),
    payload: Type.String({ pattern: "^[A-Za-z0-9+/]+={0,2}$" }),
    signatures: Type.Array(
      Type.Object(
        { keyid: Sha256Schema, sig: Type.String({ pattern: "^[A-Za-z0-9+/]{86}==$" }) },
        closed,
      ),
      { minItems: 1, maxItems: 1 },
    ),
  },
  closed,
);
export type SealedAuditHead = Static<typeof SealedAuditHeadSchema>;

/** The text whose SHA-256 is the row's hash: the hash before it, and what the row tells in canonical JSON. */
export function auditText(previous: string, facts: AuditFacts): string {
  return previous + canonicalJson(facts);
}

/** What a row tells, without its place in the chain. */
export function auditFactsOf({ previous: _, hash: __, ...facts }: AuditRow): AuditFacts {
  return facts;
}
