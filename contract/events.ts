// Safe public facts about a run. Every field is an id, a number, a flag, a code, a reviewed name or an approved label.
import { Type, type Static, type TProperties } from "typebox";
import { HostErrorSchema } from "./hints.ts";
import { AttemptIdSchema, TimestampSchema } from "./ids.ts";
import { AttemptStateSchema } from "./states.ts";

export const EVENT_VERSION = "1.0";
export const DETAIL_SCHEMA = "play_task_host_v1";

/** Longest published label, in Unicode code points and in UTF-8 bytes; longest published host name in code points. */
export const LABEL_CODE_POINTS_MAX = 200;
export const LABEL_BYTES_MAX = 800;
export const HOST_CODE_POINTS_MAX = 255;

/** Largest sequence of an event within its run. */
export const EVENT_SEQUENCE_MAX = 999_999_999;

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Ansible's seven recap columns. */
export const CountsSchema = Type.Object(
  {
    ok: count,
    changed: count,
    failures: count,
    unreachable: count,
    skipped: count,
    rescued: count,
    ignored: count,
  },
  { additionalProperties: false },
);
export type Counts = Static<typeof CountsSchema>;
export const COUNT_NAMES = [
  "ok",
  "changed",
  "failures",
  "unreachable",
  "skipped",
  "rescued",
  "ignored",
] as const satisfies readonly (keyof Counts)[];

export const HostStatusSchema = Type.Enum(["ok", "changed", "skipped", "failed", "unreachable"]);
export type HostStatus = Static<typeof HostStatusSchema>;

const id = Type.String({ pattern: "^[pt][0-9]{1,10}$" });
const label = { label: Type.String(), label_redacted: Type.Boolean() };
const host = {
  host: Type.Union([Type.String({ maxLength: HOST_CODE_POINTS_MAX * 2 }), Type.Null()]),
  host_redacted: Type.Boolean(),
};
const retry = {
  play_id: id,
  task_id: id,
  ...host,
  attempt: Type.Union([count, Type.Null()]),
  details_redacted: Type.Boolean(),
};

function event<K extends string, P extends TProperties>(kind: K, fields: P) {
  return Type.Object(
    {
      event_version: Type.Literal(EVENT_VERSION),
      run_id: AttemptIdSchema,
      sequence: Type.Integer({ minimum: 1, maximum: EVENT_SEQUENCE_MAX }),
      timestamp: TimestampSchema,
      kind: Type.Literal(kind),
      ...fields,
    },
    { additionalProperties: false },
  );
}

export const STAGES = ["preparing", "running", "finalizing"] as const;

export const EVENT_SCHEMAS = {
  stage: event("stage", { stage: Type.Enum([...STAGES]) }),
  /** Anonymous counters so far; a detail renderer ignores it. */
  progress: event("progress", {
    tasks_started: count,
    results: Type.Object(
      { ok: count, changed: count, failed: count, unreachable: count, skipped: count },
      { additionalProperties: false },
    ),
  }),
  play_started: event("play_started", { play_id: id, ...label }),
  play_skipped: event("play_skipped", { play_id: id, reason: Type.Literal("no_hosts_matched") }),
  play_stopped: event("play_stopped", { play_id: id, reason: Type.Literal("no_hosts_remaining") }),
  task_started: event("task_started", {
    play_id: id,
    task_id: id,
    ...label,
    handler: Type.Boolean(),
  }),
  host_result: event("host_result", {
    play_id: id,
    task_id: id,
    ...host,
    status: HostStatusSchema,
    changed: Type.Boolean(),
    ignored: Type.Boolean(),
    details_redacted: Type.Boolean(),
    error: Type.Union([HostErrorSchema, Type.Null()]),
  }),
  task_retry: event("task_retry", retry),
  task_async_poll: event("task_async_poll", retry),
  host_recap: event("host_recap", { ...host, counts: CountsSchema }),
  stats: event("stats", { hosts: count, counts: CountsSchema }),
  result: event("result", {
    state: AttemptStateSchema,
    error: Type.Union([Type.String({ pattern: "^[a-z_]+$" }), Type.Null()]),
  }),
} as const;

export type EventKind = keyof typeof EVENT_SCHEMAS;
export const DETAIL_EVENT_KINDS = [
  "play_started",
  "play_skipped",
  "play_stopped",
  "task_started",
  "host_result",
  "task_retry",
  "task_async_poll",
  "host_recap",
] as const satisfies readonly EventKind[];

export const RunEventSchema = Type.Union([
  EVENT_SCHEMAS.stage,
  EVENT_SCHEMAS.progress,
  EVENT_SCHEMAS.play_started,
  EVENT_SCHEMAS.play_skipped,
  EVENT_SCHEMAS.play_stopped,
  EVENT_SCHEMAS.task_started,
  EVENT_SCHEMAS.host_result,
  EVENT_SCHEMAS.task_retry,
  EVENT_SCHEMAS.task_async_poll,
  EVENT_SCHEMAS.host_recap,
  EVENT_SCHEMAS.stats,
  EVENT_SCHEMAS.result,
]);
export type RunEventOf<K extends EventKind> = Static<(typeof EVENT_SCHEMAS)[K]>;
export type RunEvent = { [K in EventKind]: RunEventOf<K> }[EventKind];

/** The part of an event that its kind decides; the envelope is added where it is numbered. */
export type EventBody = {
  [K in EventKind]: Omit<RunEventOf<K>, "event_version" | "run_id" | "sequence" | "timestamp">;
}[EventKind];
