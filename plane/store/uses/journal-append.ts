// Adds events to the journal of an attempt: rows, names, gaps, checkpoint, losses and cursor, in the caller's transaction.
// The caller holds the attempt, so that a journal has one writer at a time.
import type { LossReason, RunEvent } from "@aim/contract";
import { advance, NOTHING_SEEN, type Checkpoint } from "../../journal/checkpoint.ts";
import { gapsOf, type Gap } from "../../journal/gaps.ts";
import { microsOf } from "../../journal/micros.ts";
import type { JournalLimits } from "../../journal/retention.ts";
import { renamed, rowOf, type Intern } from "../../journal/row.ts";
import type { Attempt } from "../../execution/attempt.ts";
import type { StoredJournal as Journal } from "../schema.ts";
import type { Write } from "../transaction.ts";
import { internNames } from "./journal-names.ts";
import { insertRows } from "./journal-rows.ts";
import { trimJournal } from "./journal-trim.ts";

/** The journal of an attempt, made now where there is none. Its limits are those of its beginning. */
export async function openJournal(
  { db }: Write,
  attempt: Attempt,
  limits: JournalLimits,
): Promise<Journal> {
  const found = await db
    .selectFrom("journals")
    .selectAll()
    .where("attempt_id", "=", attempt.id)
    .executeTakeFirst();
  if (found !== undefined) return found;
  const job = await db
    .selectFrom("jobs")
    .select("spec")
    .where("id", "=", attempt.jobId)
    .executeTakeFirstOrThrow();
  const { inputs } = JSON.parse(job.spec) as { inputs?: { progress_mode?: string } };
  return db
    .insertInto("journals")
    .values({
      attempt_id: attempt.id,
      job_id: attempt.jobId,
      customer_id: attempt.customer,
      number: attempt.number,
      detail: Number(inputs?.progress_mode === "detail"),
      base_us: Math.round(attempt.created) * 1000,
      capture: "live",
      max_events: limits.maxEvents,
      max_bytes: limits.maxBytes,
      last_sequence: 0,
      first_sequence: null,
      stored: 0,
      retained: 0,
      bytes: 0,
      omitted: 0,
      omitted_from: null,
      omitted_to: null,
      lost: 0,
      placed: 0,
      names: 0,
      names_kept: 0,
      last_name: 0,
      checkpoint: JSON.stringify(NOTHING_SEEN),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export interface Addition {
  /** With rising sequences; those that are stored already change nothing. */
  readonly events: readonly RunEvent[];
  /** All losses so far, as the runner counts them. */
  readonly lost: number;
  /** Of a loss that shows now. */
  readonly reason: LossReason;
  /** Plane time of the receipt; null takes the events' own times for it. */
  readonly now: number | null;
  /** Instead of the journal's own. */
  readonly limits?: JournalLimits;
}

export async function appendToJournal(
  write: Write,
  before: Journal,
  addition: Addition,
): Promise<Journal> {
  const events = freshOf(before, addition.events);
  const lost = Math.max(before.lost, addition.lost);
  const gaps = gapsOf({
    last: before.last_sequence,
    sequences: events.map(({ sequence }) => sequence),
    unplaced: lost - before.placed,
    reason: addition.reason,
  });
  const inserted = await insertEvents(write, before, { events, now: addition.now });
  await insertGaps(write, before, gaps);
  const grown: Journal = {
    ...before,
    ...inserted,
    last_sequence: events.at(-1)?.sequence ?? before.last_sequence,
    first_sequence: before.first_sequence ?? events[0]?.sequence ?? null,
    lost,
    placed: before.placed + gaps.reduce((sum, { n }) => sum + n, 0),
    checkpoint: checkpointAfter(before, events),
  };
  const limits = addition.limits ?? { maxEvents: before.max_events, maxBytes: before.max_bytes };
  const after = await trimJournal(write, grown, limits);
  await save(write, after);
  return after;
}

async function save({ db }: Write, { id, ...journal }: Journal): Promise<void> {
  await db.updateTable("journals").set(journal).where("id", "=", id).execute();
}

function freshOf(journal: Journal, events: readonly RunEvent[]): RunEvent[] {
  let last = journal.last_sequence;
  return events.filter(({ sequence }) => {
    if (sequence <= last) return false;
    last = sequence;
    return true;
  });
}

function checkpointAfter({ checkpoint }: Journal, events: readonly RunEvent[]): string | null {
  if (checkpoint === null || events.length === 0) return checkpoint;
  return JSON.stringify(advance(JSON.parse(checkpoint) as Checkpoint, events));
}

interface Arrived {
  readonly events: readonly RunEvent[];
  readonly now: number | null;
}

async function insertEvents(write: Write, journal: Journal, { events, now }: Arrived) {
  // Numbered as they come, until the journal's own numbers are known.
  const numbered = new Map<string, number>();
  const intern: Intern = (text) => {
    const number = numbered.get(text) ?? numbered.size;
    numbered.set(text, number);
    return number + 1;
  };
  const base = journal.base_us;
  const rows = events.map((event) => rowOf(event, { base, now: receipt(event, now), intern }));
  const texts = [...numbered.keys()];
  const { id, customer_id: customer, last_name: lastName } = journal;
  const { fresh, ids } = await internNames(write, { id, customer, lastName }, new Set(texts));
  const own = texts.map((text) => ids.get(text) ?? 0);
  const sizes = events.map((event) => Buffer.byteLength(JSON.stringify(event)));
  const stored = rows.map((row, at) => ({
    journal: id,
    ...renamed(row, (number) => own[number - 1] ?? 0),
    bytes: sizes[at] ?? 0,
    customer_id: customer,
  }));
  await insertRows(write, stored);
  return {
    stored: journal.stored + stored.length,
    retained: journal.retained + stored.length,
    bytes: sizes.reduce((sum, size) => sum + size, journal.bytes),
    names: journal.names + fresh,
    last_name: lastName + fresh,
  };
}

function receipt(event: RunEvent, now: number | null): number {
  return now === null ? Math.floor((microsOf(event.timestamp) ?? 0) / 1000) : Math.round(now);
}

async function insertGaps({ db }: Write, journal: Journal, gaps: readonly Gap[]): Promise<void> {
  if (gaps.length === 0) return;
  await db
    .insertInto("journal_gaps")
    .values(
      gaps.map(({ from, to, n, reason }) => ({
        journal: journal.id,
        from_sequence: from,
        to_sequence: to,
        n,
        reason,
        customer_id: journal.customer_id,
      })),
    )
    .execute();
}
