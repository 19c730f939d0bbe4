// What this installation can do, each fact separate: offered, enabled, ready, accepted.
import { Type, type Static } from "typebox";
import { DETAIL_EVENT_KINDS, DETAIL_SCHEMA } from "./events.ts";
import { API_VERSION } from "./job-spec.ts";
import { TARGET_OUTCOME_SCHEMA } from "./outcome.ts";

export const PRODUCT_VERSION = "0.1.0";
export const ANSIBLE_CORE_VERSION = "2.19.11";

export const QUALIFICATIONS = ["controller_acceptance_required", "controller_accepted"] as const;
export type Qualification = (typeof QUALIFICATIONS)[number];

const closed = { additionalProperties: false } as const;

export const CapabilitiesSchema = Type.Object(
  {
    version: Type.String(),
    api_version: Type.Literal(API_VERSION),
    operations: Type.Array(Type.String()),
    job_types: Type.Array(Type.String()),
    execution_progress: Type.Object(
      {
        modes: Type.Array(Type.String()),
        default: Type.Literal("summary"),
        request_field: Type.Literal("progress_mode"),
        detail_schema: Type.Literal(DETAIL_SCHEMA),
        detail_event_kinds: Type.Array(Type.String()),
        static_source_labels_only: Type.Literal(true),
        raw_output: Type.Literal(false),
        error_policy: Type.Literal("fixed_diagnostic_hints"),
        qualification: Type.Enum([...QUALIFICATIONS]),
      },
      closed,
    ),
    target_outcomes: Type.Literal(TARGET_OUTCOME_SCHEMA),
    operation_results: Type.Literal(true),
    raw_task_output: Type.Literal(false),
    /** The administrator's switch. */
    enabled: Type.Boolean(),
    /** A runner of this installation is registered and passed its own checks. */
    runtime_ready: Type.Boolean(),
    runtime: Type.Union([
      Type.Object(
        {
          ansible_core: Type.String(),
          python: Type.String(),
          callback_digest: Type.String(),
          isolation: Type.String(),
          sandbox_checks: Type.Object({ passed: Type.Integer(), failed: Type.Integer() }, closed),
        },
        closed,
      ),
      Type.Null(),
    ]),
  },
  closed,
);
export type Capabilities = Static<typeof CapabilitiesSchema>;

/** The fragment of the source text, with the one fact that differs between installations. */
export function executionProgress(
  qualification: Qualification,
): Capabilities["execution_progress"] {
  return {
    modes: ["summary", "detail"],
    default: "summary",
    request_field: "progress_mode",
    detail_schema: DETAIL_SCHEMA,
    detail_event_kinds: [...DETAIL_EVENT_KINDS],
    static_source_labels_only: true,
    raw_output: false,
    error_policy: "fixed_diagnostic_hints",
    qualification,
  };
}

/** Whether a plane takes work. */
export const ReadinessSchema = Type.Object(
  {
    ready: Type.Boolean(),
    why: Type.Union([Type.Enum(["recovering", "shutting_down", "store_silent"]), Type.Null()]),
  },
  { additionalProperties: false },
);
export interface Readiness {
  readonly ready: boolean;
  readonly why: "recovering" | "shutting_down" | "store_silent" | null;
}
