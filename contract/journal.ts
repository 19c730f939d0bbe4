// The retained journal of a job as clients read it: pages, a snapshot, and the messages of its stream.
import { Type, type Static } from "typebox";
import { HostStatusSchema, RunEventSchema, STAGES } from "./events.ts";
import { HintCodeSchema } from "./hints.ts";
import { AttemptIdSchema, JobIdSchema, TimestampSchema } from "./ids.ts";
import { AttemptStateSchema } from "./states.ts";

const closed = { additionalProperties: false } as const;
const orNull = <S extends Type.TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const count = Type.Integer({ minimum: 0 });
const sequence = Type.Integer({ minimum: 1 });

/** Records of a page without `limit`, and of the newest page. */
export const JOURNAL_PAGE = 200;
export const JOURNAL_PAGE_MAX = 500;
/** Records in one message of the stream. */
export const JOURNAL_BATCH_MAX = 200;
/** Streams that may be open at once: of one principal, and in all. */
export const JOURNAL_STREAMS = { each: 6, all: 512 } as const;

/** A place in the journal of one job. It grows with each event and gives no right to anything. */
export const CursorSchema = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const JournalRecordSchema = Type.Object(
  {
    cursor: CursorSchema,
    /** When the plane received it; the event's own time is the runner's. */
    received_at: TimestampSchema,
    event: RunEventSchema,
  },
  closed,
);
export type JournalRecord = Static<typeof JournalRecordSchema>;

/** Why events were lost: the runner's queue was full, or they had not arrived when the capture ended. */
export const LOSS_REASONS = ["queue_full", "not_delivered"] as const;
export type LossReason = (typeof LOSS_REASONS)[number];

export const GAP_REASONS = [...LOSS_REASONS, "retention"] as const;

/** Events that are not there, by the cursors of the first and the last place of the hole. */
export const JournalGapSchema = Type.Object(
  {
    run_id: AttemptIdSchema,
    from: CursorSchema,
    to: CursorSchema,
    /** How many of its places were events; the others never were. */
    events: count,
    reason: Type.Enum([...GAP_REASONS]),
  },
  closed,
);
export type JournalGap = Static<typeof JournalGapSchema>;

export const JournalPageSchema = Type.Object(
  {
    job_id: JobIdSchema,
    /** In order, without those that a summary of a detailed run would repeat. */
    records: Type.Array(JournalRecordSchema),
    /** Holes before and between the records, in order. */
    gaps: Type.Array(JournalGapSchema),
    /** The next page begins after it. */
    cursor: CursorSchema,
    /** Whether more was stored when this page was read. */
    more: Type.Boolean(),
  },
  closed,
);
export type JournalPage = Static<typeof JournalPageSchema>;

/**
 * `waiting`: no runner has begun to capture; `live`; `closed`: the runner told its last event and its losses;
 * `interrupted`: the attempt ended without that; `unavailable`: it ended before journals were kept.
 */
export const CAPTURE_STATES = ["waiting", "live", "closed", "interrupted", "unavailable"] as const;
export type CaptureState = (typeof CAPTURE_STATES)[number];

/** What one attempt's journal covers. `produced`, where it is known, is `stored + lost`. */
export const CoverageSchema = Type.Object(
  {
    run_id: AttemptIdSchema,
    number: Type.Integer({ minimum: 1 }),
    state: AttemptStateSchema,
    capture: Type.Enum([...CAPTURE_STATES]),
    /** Events that were ever stored, those that were omitted since included. */
    stored: count,
    lost: count,
    retained: Type.Object(
      {
        events: count,
        /** Of their JSON texts. */
        bytes: count,
        first_sequence: orNull(sequence),
        last_sequence: orNull(sequence),
      },
      closed,
    ),
    /** What retention removed; null for nothing. */
    omitted: orNull(
      Type.Object({ events: count, from_sequence: sequence, to_sequence: sequence }, closed),
    ),
    limits: Type.Object({ max_events: count, max_bytes: count }, closed),
  },
  closed,
);
export type Coverage = Static<typeof CoverageSchema>;

const play = { play_id: Type.String(), label: Type.String(), label_redacted: Type.Boolean() };
const TaskSchema = Type.Object(
  { ...play, task_id: Type.String(), handler: Type.Boolean() },
  closed,
);

/** What is known of an attempt however much of its journal was omitted. Last seen, not final. */
export const CheckpointSchema = Type.Object(
  {
    stage: orNull(Type.Enum([...STAGES])),
    play: orNull(Type.Object(play, closed)),
    task: orNull(TaskSchema),
    task_starts: count,
    /** The newest tasks, oldest first. */
    tasks: Type.Array(TaskSchema, { maxItems: 64 }),
    /** The newest observation of each host, oldest first. */
    hosts: Type.Array(
      Type.Object(
        {
          host: Type.String(),
          play_id: Type.String(),
          task_id: Type.String(),
          status: HostStatusSchema,
          changed: Type.Boolean(),
          ignored: Type.Boolean(),
          hint: orNull(HintCodeSchema),
          sequence,
        },
        closed,
      ),
      { maxItems: 500 },
    ),
  },
  closed,
);
export type JournalCheckpoint = Static<typeof CheckpointSchema>;

/** The results of the retained window, by places in the lists of hosts and tasks. */
export const MatrixSchema = Type.Object(
  {
    /** Everything up to here is in it. */
    cursor: CursorSchema,
    hosts: Type.Array(Type.String()),
    tasks: Type.Array(
      Type.Object({ task_id: Type.String(), label: orNull(Type.String()) }, closed),
    ),
    cells: Type.Array(
      Type.Object(
        { host: count, task: count, status: HostStatusSchema, ignored: Type.Boolean() },
        closed,
      ),
    ),
  },
  closed,
);
export type JournalMatrix = Static<typeof MatrixSchema>;

export const JournalSnapshotSchema = Type.Object(
  {
    job_id: JobIdSchema,
    /** All of this belongs to it: a stream after it misses nothing and repeats nothing. */
    cursor: CursorSchema,
    /** Of the newest attempt, as are `checkpoint` and `matrix`. */
    capture: Type.Enum([...CAPTURE_STATES]),
    /** Null where nothing was captured. */
    checkpoint: orNull(CheckpointSchema),
    /** One for each attempt, oldest first. */
    coverage: Type.Array(CoverageSchema),
    /** Losses whose place is known, oldest first. */
    gaps: Type.Array(JournalGapSchema),
    matrix: MatrixSchema,
  },
  closed,
);
export type JournalSnapshot = Static<typeof JournalSnapshotSchema>;

/** Why a stream ends before its job: the reader may no longer read it, or came with a cursor of another past. */
export const RESET_REASONS = ["access_ended", "cursor_unknown"] as const;
export type ResetReason = (typeof RESET_REASONS)[number];

/** The data of each `event:` of the stream. The id of a message is the cursor to resume after. */
export const JOURNAL_MESSAGES = {
  batch: Type.Object({ records: Type.Array(JournalRecordSchema) }, closed),
  gap: JournalGapSchema,
  reset: Type.Object({ reason: Type.Enum([...RESET_REASONS]) }, closed),
  end: Type.Object({ cursor: CursorSchema }, closed),
} as const;
export type JournalMessageName = keyof typeof JOURNAL_MESSAGES;
export type JournalMessage = {
  [K in JournalMessageName]: {
    readonly name: K;
    readonly data: Static<(typeof JOURNAL_MESSAGES)[K]>;
  };
}[JournalMessageName];
