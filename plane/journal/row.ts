// Between an event and the columns of its row. Names stand in the row as small integers; `Names` knows their texts.
// What a number means here is stored: lists and bits only ever grow at their ends.
import {
  COUNT_NAMES,
  EVENT_VERSION,
  STAGES,
  type EventBody,
  type EventKind,
  type HostStatus,
  type RunEvent,
  type RunEventOf,
} from "@aim/contract";
import { microsOf, timestampOf } from "./micros.ts";

export interface JournalRow {
  readonly sequence: number;
  /** Kind in the lowest four bits, flags above them. */
  readonly kind: number;
  /** Microseconds after the journal's base; a name where the time is none of the calendar. */
  readonly at: number;
  /** Milliseconds from the event's own time to its receipt; from the base where that time is a name. */
  readonly delay: number;
  /** Twice the number of the id, plus one for a task's; below zero it is a name. */
  readonly play: number | null;
  readonly task: number | null;
  /** Host or label: a name. */
  readonly name: number | null;
  readonly detail: number | null;
  /** JSON of what only few events have. */
  readonly more: string | null;
}

/** The number of a name's JSON text, from 1 on. */
export type Intern = (json: string) => number;
/** The JSON text of a number. */
export type NameOf = (id: number) => string;

export const JOURNAL_KINDS = [
  "stage",
  "progress",
  "play_started",
  "play_skipped",
  "play_stopped",
  "task_started",
  "host_result",
  "task_retry",
  "task_async_poll",
  "host_recap",
  "stats",
  "result",
] as const satisfies readonly EventKind[];
export const KIND_MASK = 15;
export const NAMED_TIME = 1 << 11;
const FIRST = 1 << 4;
const SECOND = 1 << 5;
const THIRD = 1 << 6;
const REDACTED = 1 << 7;
const STATUS_SHIFT = 8;
const STATUSES = [
  "ok",
  "changed",
  "skipped",
  "failed",
  "unreachable",
] as const satisfies readonly HostStatus[];

const RESULT_NAMES = ["ok", "changed", "failed", "unreachable", "skipped"] as const;

type Columns = Partial<Pick<JournalRow, "play" | "task" | "name" | "detail" | "more">> & {
  readonly flags?: number;
};

export interface Received {
  /** The journal's base, in microseconds. */
  readonly base: number;
  /** Plane time of the receipt in whole milliseconds. */
  readonly now: number;
  readonly intern: Intern;
}

export function rowOf(event: RunEvent, { base, now, intern }: Received): JournalRow {
  const columnize = TO_COLUMNS[event.kind] as Columnize<EventKind>;
  const text: Text = (value) => intern(JSON.stringify(value));
  const { flags = 0, ...columns } = columnize(event, text);
  const micros = microsOf(event.timestamp);
  const at = micros === null ? null : micros - base;
  const kind = JOURNAL_KINDS.indexOf(event.kind) | flags;
  const fields = { play: null, task: null, name: null, detail: null, more: null, ...columns };
  const { sequence } = event;
  if (micros === null || at === null || !Number.isSafeInteger(at)) {
    const named = text(event.timestamp);
    const delay = now - Math.floor(base / 1000);
    return { sequence, kind: kind | NAMED_TIME, at: named, delay, ...fields };
  }
  return { sequence, kind, at, delay: now - Math.floor(micros / 1000), ...fields };
}

type Columnize<K extends EventKind> = (event: RunEventOf<K>, text: Text) => Columns;

const TO_COLUMNS: { readonly [K in EventKind]: Columnize<K> } = {
  stage: ({ stage }) => ({ detail: STAGES.indexOf(stage) }),
  progress: ({ results, tasks_started }) => ({
    more: JSON.stringify([tasks_started, ...numbers(results, RESULT_NAMES)]),
  }),
  play_started: ({ label, label_redacted, play_id }, text) => ({
    play: refOf(play_id, text),
    name: text(label),
    flags: bit(label_redacted, REDACTED),
  }),
  play_skipped: ({ play_id }, text) => ({ play: refOf(play_id, text) }),
  play_stopped: ({ play_id }, text) => ({ play: refOf(play_id, text) }),
  task_started: ({ handler, label, label_redacted, play_id, task_id }, text) => ({
    play: refOf(play_id, text),
    task: refOf(task_id, text),
    name: text(label),
    flags: bit(label_redacted, REDACTED) | bit(handler, FIRST),
  }),
  host_result: (event, text) => ({
    ...placeColumns(event, text),
    detail: event.error === null ? null : text(event.error),
    flags:
      hostFlags(event) |
      bit(event.changed, FIRST) |
      bit(event.ignored, SECOND) |
      (STATUSES.indexOf(event.status) << STATUS_SHIFT),
  }),
  task_retry: retryColumns,
  task_async_poll: retryColumns,
  host_recap: ({ counts: all, host, host_redacted }, text) => ({
    name: hostName(host, text),
    more: JSON.stringify(numbers(all, COUNT_NAMES)),
    flags: bit(host_redacted, REDACTED),
  }),
  stats: ({ counts: all, hosts }) => ({
    more: JSON.stringify([hosts, ...numbers(all, COUNT_NAMES)]),
  }),
  result: ({ error, state }, text) => ({ detail: text([state, error]) }),
};

function retryColumns(event: RunEventOf<"task_retry" | "task_async_poll">, text: Text): Columns {
  return { ...placeColumns(event, text), detail: event.attempt, flags: hostFlags(event) };
}

type Text = (value: unknown) => number;

interface OnHost {
  readonly play_id: string;
  readonly task_id: string;
  readonly host: string | null;
  readonly host_redacted: boolean;
  readonly details_redacted: boolean;
}

function placeColumns({ play_id, task_id, host }: OnHost, text: Text) {
  return { play: refOf(play_id, text), task: refOf(task_id, text), name: hostName(host, text) };
}

function hostName(host: string | null, text: Text): number | null {
  return host === null ? null : text(host);
}

function hostFlags({ host_redacted, details_redacted }: OnHost): number {
  return bit(host_redacted, REDACTED) | bit(details_redacted, THIRD);
}

function bit(set: boolean, flag: number): number {
  return set ? flag : 0;
}

function numbers<K extends string>(values: Readonly<Record<K, number>>, names: readonly K[]) {
  return names.map((name) => values[name]);
}

function refOf(id: string, text: Text): number {
  const canonical = /^[pt](0|[1-9]\d*)$/.exec(id);
  if (canonical === null) return -text(id);
  return Number(canonical[1]) * 2 + (id.startsWith("t") ? 1 : 0);
}

/** The same row, its names under other numbers. */
export function renamed(row: JournalRow, idOf: (name: number) => number): JournalRow {
  const ref = (value: number | null) => (value === null || value >= 0 ? value : -idOf(-value));
  const name = (value: number | null) => (value === null ? null : idOf(value));
  return {
    ...row,
    at: (row.kind & NAMED_TIME) === 0 ? row.at : idOf(row.at),
    play: ref(row.play),
    task: ref(row.task),
    name: name(row.name),
    detail: isNameInDetail(row) ? name(row.detail) : row.detail,
  };
}

function isNameInDetail(row: JournalRow): boolean {
  const kind = JOURNAL_KINDS[row.kind & KIND_MASK];
  return kind === "host_result" || kind === "result";
}

/** Names that a row refers to. */
export function namesIn(row: JournalRow): number[] {
  return [
    (row.kind & NAMED_TIME) === 0 ? null : row.at,
    row.play !== null && row.play < 0 ? -row.play : null,
    row.task !== null && row.task < 0 ? -row.task : null,
    row.name,
    isNameInDetail(row) ? row.detail : null,
  ].filter((id) => id !== null);
}

export interface Kept {
  readonly runId: string;
  readonly base: number;
  readonly nameOf: NameOf;
}

export function eventOf(row: JournalRow, { runId, base, nameOf }: Kept): RunEvent {
  const named = (row.kind & NAMED_TIME) !== 0;
  return {
    event_version: EVENT_VERSION,
    run_id: runId,
    sequence: row.sequence,
    timestamp: named ? (JSON.parse(nameOf(row.at)) as string) : timestampOf(base + row.at),
    ...bodyOf(row, (id) => JSON.parse(nameOf(id ?? 0)) as never),
  };
}

/** Plane time in milliseconds at which the event of a row was received. */
export function receivedAt(row: JournalRow, base: number): number {
  const named = (row.kind & NAMED_TIME) !== 0;
  return Math.floor((named ? base : base + row.at) / 1000) + row.delay;
}

type Value = (id: number | null) => never;
type BodyOf<K extends EventKind> = Extract<EventBody, { kind: K }>;

/** A row whose bits and texts can be asked for. */
interface Open {
  readonly row: JournalRow;
  readonly value: Value;
  readonly has: (flag: number) => boolean;
}

const FROM_COLUMNS: { readonly [K in EventKind]: (open: Open) => Omit<BodyOf<K>, "kind"> } = {
  stage: ({ row }) => ({ stage: STAGES[row.detail ?? 0] ?? "preparing" }),
  progress: ({ row }) => {
    const [tasks_started = 0, ...results] = more(row);
    return { tasks_started, results: record(RESULT_NAMES, results) };
  },
  play_started: (open) => ({ ...playOf(open), ...labelOf(open) }),
  play_skipped: (open) => ({ ...playOf(open), reason: "no_hosts_matched" }),
  play_stopped: (open) => ({ ...playOf(open), reason: "no_hosts_remaining" }),
  task_started: (open) => ({ ...taskOf(open), ...labelOf(open), handler: open.has(FIRST) }),
  host_result: (open) => ({
    ...taskOf(open),
    ...hostOf(open),
    status: statusOf(open.row.kind),
    changed: open.has(FIRST),
    ignored: wasIgnored(open.row.kind),
    details_redacted: open.has(THIRD),
    error: open.row.detail === null ? null : open.value(open.row.detail),
  }),
  task_retry: retryOf,
  task_async_poll: retryOf,
  host_recap: (open) => ({ ...hostOf(open), counts: record(COUNT_NAMES, more(open.row)) }),
  stats: ({ row }) => {
    const [hosts = 0, ...rest] = more(row);
    return { hosts, counts: record(COUNT_NAMES, rest) };
  },
  result: ({ row, value }) => {
    const [state, error] = value(row.detail) as [never, never];
    return { state, error };
  },
};

function retryOf(open: Open) {
  return {
    ...taskOf(open),
    ...hostOf(open),
    attempt: open.row.detail,
    details_redacted: open.has(THIRD),
  };
}

function bodyOf(row: JournalRow, value: Value): EventBody {
  const kind = JOURNAL_KINDS[row.kind & KIND_MASK] ?? "stage";
  const body = FROM_COLUMNS[kind]({ row, value, has: (flag) => (row.kind & flag) !== 0 });
  return { kind, ...body } as EventBody;
}

/** Of a host's result. */
export function statusOf(kind: number): HostStatus {
  return STATUSES[(kind >> STATUS_SHIFT) & 7] ?? "failed";
}

export function wasIgnored(kind: number): boolean {
  return (kind & SECOND) !== 0;
}

function playOf({ row, value }: Open) {
  return { play_id: idOf(row.play ?? 0, value) };
}

function taskOf(open: Open) {
  return { ...playOf(open), task_id: idOf(open.row.task ?? 0, open.value) };
}

function labelOf({ has, row, value }: Open) {
  return { label: value(row.name) as string, label_redacted: has(REDACTED) };
}

function hostOf({ has, row, value }: Open) {
  const host: string | null = row.name === null ? null : value(row.name);
  return { host, host_redacted: has(REDACTED) };
}

function idOf(ref: number, value: Value): string {
  return ref < 0 ? value(-ref) : idOfNumber(ref);
}

/** Of a reference that is no name. */
export function idOfNumber(ref: number): string {
  return `${ref % 2 === 1 ? "t" : "p"}${Math.floor(ref / 2)}`;
}

function more(row: JournalRow): number[] {
  return JSON.parse(row.more ?? "[]") as number[];
}

function record<K extends string>(names: readonly K[], values: readonly number[]) {
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? 0])) as Record<K, number>;
}
