// Final accounting: what is known of each requested host and of the run as a whole. Only the Core computes it.
import { Type, type Static } from "typebox";
import { CountsSchema } from "./events.ts";
import { AttemptIdSchema, Sha256Schema } from "./ids.ts";
import {
  AttemptStateSchema,
  EffectSchema,
  EvidenceSchema,
  FailureCategorySchema,
  RemoteWorkSchema,
} from "./states.ts";

export const TARGET_OUTCOME_SCHEMA = "target_outcome_summary_v1";

export const TARGET_OUTCOMES = [
  "succeeded",
  "changed",
  "failed",
  "unreachable",
  "skipped",
  "not_reached",
  "unknown",
] as const;
export type TargetOutcome = (typeof TARGET_OUTCOMES)[number];

/** Why a run did not succeed. Fixed sentences; a code never changes its meaning. */
export const RUN_ERRORS = {
  hosts_failed: "At least one host failed.",
  hosts_unreachable: "At least one host was unreachable.",
  nothing_ran: "The run ended without doing anything on any requested host.",
  tool_failed: "Ansible ended with an error that no host accounts for.",
  invalid_event_stream: "The event stream was damaged. What ran is known only in part.",
  event_limit: "The run produced more events than AIM accepts.",
  event_bridge_unavailable: "Ansible ended before it could report anything.",
  event_bridge_incomplete: "Ansible ended without its final report.",
  operation_result_missing:
    "The playbook did not set the operation result that its catalog entry declares.",
  operation_result_invalid: "The operation result does not fit its declared schema or limits.",
  sandbox_unavailable: "The sandbox could not be started.",
  inventory_unreadable: "The inventory could not be read in full.",
  inventory_empty: "The inventory names no host.",
  content_mismatch: "The content of the run does not have the digest that was reviewed.",
  credential_unavailable: "A credential could not be handed to the tool.",
  cancelled: "The run was cancelled.",
  timed_out: "The run reached its deadline.",
  lost: "The runner was lost. Nobody can say what happened.",
  internal: "The runner met a fault of its own.",
} as const;
export type RunErrorCode = keyof typeof RUN_ERRORS;
export const RUN_ERROR_CODES = Object.keys(RUN_ERRORS) as readonly RunErrorCode[];

export const RunErrorSchema = Type.Object(
  { code: Type.Enum([...RUN_ERROR_CODES]), message: Type.String() },
  { additionalProperties: false },
);
export type RunError = Static<typeof RunErrorSchema>;

export function runError(code: RunErrorCode): RunError {
  return { code, message: RUN_ERRORS[code] };
}

export const TargetSchema = Type.Object(
  {
    host: Type.String(),
    outcome: Type.Enum([...TARGET_OUTCOMES]),
    counts: Type.Union([CountsSchema, Type.Null()]),
  },
  { additionalProperties: false },
);
export type Target = Static<typeof TargetSchema>;

const count = Type.Integer({ minimum: 0 });

export const TargetSummarySchema = Type.Object(
  {
    schema: Type.Literal(TARGET_OUTCOME_SCHEMA),
    requested: count,
    succeeded: count,
    changed: count,
    failed: count,
    unreachable: count,
    skipped: count,
    not_reached: count,
    unknown: count,
  },
  { additionalProperties: false },
);
export type TargetSummary = Static<typeof TargetSummarySchema>;

/** How far a host's changed results can be believed, by static analysis of the reviewed source. */
export const ChangeEvidenceSchema = Type.Object(
  { host: Type.String(), trusted: count, unverified: count },
  { additionalProperties: false },
);
export type ChangeEvidence = Static<typeof ChangeEvidenceSchema>;

/** What a driver says about its own attempt; the plane adds the state and what it alone knows. */
export const OutcomeSchema = Type.Object(
  {
    verdict: Type.Enum(["succeeded", "failed", "cancelled", "timed_out"]),
    effect: EffectSchema,
    remote_work: RemoteWorkSchema,
    failure_category: Type.Union([FailureCategorySchema, Type.Null()]),
    error: Type.Union([RunErrorSchema, Type.Null()]),
    stats: Type.Union([CountsSchema, Type.Null()]),
    targets: Type.Array(TargetSchema),
    target_summary: TargetSummarySchema,
    operation_result: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
    change_evidence: Type.Array(ChangeEvidenceSchema),
  },
  { additionalProperties: false },
);
export type Outcome = Static<typeof OutcomeSchema>;

export const JournalSummarySchema = Type.Object(
  {
    stored: count,
    lost: count,
    first_sequence: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
    last_sequence: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
  },
  { additionalProperties: false },
);
export type JournalSummary = Static<typeof JournalSummarySchema>;

export const RunResultSchema = Type.Object(
  {
    run_id: AttemptIdSchema,
    state: AttemptStateSchema,
    effect: EffectSchema,
    evidence: EvidenceSchema,
    kill_confirmed: Type.Boolean(),
    remote_work: RemoteWorkSchema,
    failure_category: Type.Union([FailureCategorySchema, Type.Null()]),
    error: Type.Union([RunErrorSchema, Type.Null()]),
    stats: Type.Union([CountsSchema, Type.Null()]),
    targets: Type.Array(TargetSchema),
    target_summary: TargetSummarySchema,
    operation_result: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
    change_evidence: Type.Array(ChangeEvidenceSchema),
    journal: JournalSummarySchema,
    manifest_digest: Type.Union([Sha256Schema, Type.Null()]),
  },
  { additionalProperties: false },
);
export type RunResult = Static<typeof RunResultSchema>;

export function summarize(targets: readonly Target[]): TargetSummary {
  const summary: TargetSummary = {
    schema: TARGET_OUTCOME_SCHEMA,
    requested: targets.length,
    succeeded: 0,
    changed: 0,
    failed: 0,
    unreachable: 0,
    skipped: 0,
    not_reached: 0,
    unknown: 0,
  };
  for (const target of targets) summary[target.outcome] += 1;
  return summary;
}
