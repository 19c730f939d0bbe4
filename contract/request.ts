// What an operator asks for, and what a reviewer is shown before it may run.
import { Type, type Static } from "typebox";
import { CatalogIdSchema, Sha256Schema, TimestampSchema } from "./ids.ts";

export const ProgressModeSchema = Type.Enum(["summary", "detail"]);
export const PROGRESS_MODES = ["summary", "detail"] as const;

export const HOSTS_MAX = 10_000;

export const RunRequestSchema = Type.Object(
  {
    customer: CatalogIdSchema,
    playbook: CatalogIdSchema,
    hosts: Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), { maxItems: HOSTS_MAX }),
    progress_mode: Type.Optional(ProgressModeSchema),
    check: Type.Optional(Type.Boolean()),
    /** Must be true where the catalog entry or the content is destructive. */
    destructive: Type.Optional(Type.Boolean()),
    variables: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);
export type RunRequest = Static<typeof RunRequestSchema>;

/** A request with every default written out. Execute takes exactly this form. */
export const NormalizedRequestSchema = Type.Object(
  {
    customer: CatalogIdSchema,
    playbook: CatalogIdSchema,
    hosts: Type.Array(Type.String({ minLength: 1 })),
    progress_mode: ProgressModeSchema,
    check: Type.Boolean(),
    destructive: Type.Boolean(),
    variables: Type.Record(Type.String(), Type.Unknown()),
  },
  { additionalProperties: false },
);
export type NormalizedRequest = Static<typeof NormalizedRequestSchema>;

// A finding tells a reviewer where to look. Codes are stable; the sentences are ours, never text of the project.
export const FINDINGS = {
  change_unverified: "This task always claims a change, whether it made one or not.",
  change_hidden: "This task is told never to claim a change or a failure.",
  check_mode_off: "This task runs for real even in check mode.",
  effect_unknown: "The effect of this task cannot be known from its source.",
  code_plugin: "This file is code that Ansible loads by itself.",
  code_plugin_ignored: "This callback plugin is not loaded: AIM uses its own callback alone.",
  config_dropped: "This setting of ansible.cfg is not on the allow-list and was dropped.",
  controller_execution: "This task runs code or a lookup on the controller, inside the sandbox.",
  host_key_checking_off: "The inventory switches host key checking off for this host.",
  ssh_arguments: "The inventory sets ssh arguments of its own for this host.",
  dynamic_hosts: "This task adds hosts while the play runs; they are outside the review.",
  destructive: "This task removes or stops something.",
  secret_like_variable:
    "This variable has a name like a secret and stands in the inventory in plain text.",
  vaulted_variables:
    "This file of variables is vaulted as a whole; what it sets is outside the review.",
  debugger: "The task debugger is switched off.",
} as const;
export type FindingCode = keyof typeof FINDINGS;
export const FINDING_CODES = Object.keys(FINDINGS) as readonly FindingCode[];

export const FindingSchema = Type.Object(
  {
    code: Type.Enum([...FINDING_CODES]),
    weight: Type.Enum(["deny", "needs_approval", "note"]),
    message: Type.String(),
    /** Project path, with a colon and a line where there is one; or a reviewed host or variable name. */
    at: Type.Union([Type.String(), Type.Null()]),
  },
  { additionalProperties: false },
);
export type Finding = Static<typeof FindingSchema>;

export const NetworkRuleSchema = Type.Object(
  {
    host: Type.String({ minLength: 1, maxLength: 255 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    protocol: Type.Literal("tcp"),
  },
  { additionalProperties: false },
);
export type NetworkRule = Static<typeof NetworkRuleSchema>;

export const ReviewSchema = Type.Object(
  {
    title: Type.String(),
    job_type: Type.String(),
    source_digest: Sha256Schema,
    files: Type.Integer({ minimum: 0 }),
    hosts: Type.Array(Type.String()),
    /** Against the last executed revision of this playbook; null when there was none. */
    changes: Type.Union([
      Type.Object(
        {
          files_changed: Type.Array(Type.String()),
          hosts_added: Type.Array(Type.String()),
          hosts_removed: Type.Array(Type.String()),
          variables_changed: Type.Array(Type.String()),
          mode_changed: Type.Boolean(),
        },
        { additionalProperties: false },
      ),
      Type.Null(),
    ]),
    destructive: Type.Boolean(),
    destructive_because: Type.Array(Type.String()),
    credential_slots: Type.Array(Type.String()),
    secret_references: Type.Array(Type.String()),
    network: Type.Array(NetworkRuleSchema),
    findings: Type.Array(FindingSchema),
    /** Findings beyond the first 500 are counted here. */
    findings_omitted: Type.Integer({ minimum: 0 }),
    command: Type.Array(Type.String()),
    expires_at: TimestampSchema,
    /** There where somebody else has to approve: by whom they did, or null. */
    approval: Type.Optional(
      Type.Object(
        {
          required: Type.Boolean(),
          by: Type.Union([Type.String(), Type.Null()]),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);
export type Review = Static<typeof ReviewSchema>;

export const PreparedSchema = Type.Object(
  { request: NormalizedRequestSchema, revision: Sha256Schema, review: ReviewSchema },
  { additionalProperties: false },
);
export type Prepared = Static<typeof PreparedSchema>;
