// Reads the journals of a job: records after a cursor or the newest ones, and the holes between them.
import type { Kysely } from "kysely";
import { isTerminal, type AttemptState, type LossReason } from "@aim/contract";
import { cursorOf, placeOf, type Place } from "../../journal/cursor.ts";
import { JOURNAL_KINDS, KIND_MASK } from "../../journal/row.ts";
import type { Schema, StoredJournal } from "../schema.ts";
import { eventsOfRows } from "./journal-rows.ts";

export interface StoredRecord {
  readonly cursor: number;
  /** Plane time in milliseconds. */
  readonly received: number;
  /** JSON. */
  readonly event: string;
}

export interface StoredGap {
  readonly runId: string;
  readonly from: number;
  readonly to: number;
  readonly events: number;
  readonly reason: LossReason | "retention";
}

export interface JournalRead {
  readonly records: readonly StoredRecord[];
  readonly gaps: readonly StoredGap[];
  /** Reading goes on after it: the last record's, or what was asked for. */
  readonly cursor: number;
  readonly more: boolean;
  /** The newest attempt has ended, and that was so before the records were read. */
  readonly ended: boolean;
  readonly newestRun: string;
  /** Nothing lies beyond it. */
  readonly high: number;
}

export interface ReadJournal {
  readonly jobId: string;
  /** Null for the newest records. */
  readonly after: number | null;
  readonly limit: number;
}

/** Null for a job that is not there. */
export async function readJournal(
  db: Kysely<Schema>,
  use: ReadJournal,
): Promise<JournalRead | null> {
  // Before the records: what an ended attempt stored is all there when they are read.
  const newest = await db
    .selectFrom("attempts")
    .select(["id", "state"])
    .where("job_id", "=", use.jobId)
    .orderBy("number", "desc")
    .limit(1)
    .executeTakeFirst();
  if (newest === undefined) return null;
  const ended = isTerminal(newest.state as AttemptState);
  const journals = await readJournals(db, use.jobId);
  const page =
    use.after === null
      ? await newestRecords(db, journals, use.limit)
      : await recordsAfter(db, journals, { place: placeOf(use.after), limit: use.limit });
  const cursor = page.records.at(-1)?.cursor ?? use.after ?? lastCursor(journals);
  const from = use.after ?? (page.records[0]?.cursor ?? 0) - 1;
  const gaps = await gapsBetween(db, journals, { after: from, to: page.more ? cursor : null });
  return {
    ...page,
    gaps,
    cursor: Math.max(cursor, gaps.at(-1)?.to ?? 0),
    ended,
    newestRun: newest.id,
    high: lastCursor(journals),
  };
}

export async function readJournals(db: Kysely<Schema>, jobId: string): Promise<StoredJournal[]> {
  return db
    .selectFrom("journals")
    .selectAll()
    .where("job_id", "=", jobId)
    .orderBy("number")
    .execute();
}

/** Everything that the journals hold lies at or before it. */
export function lastCursor(journals: readonly StoredJournal[]): number {
  const last = journals.at(-1);
  return last === undefined ? 0 : cursorOf({ number: last.number, sequence: last.last_sequence });
}

interface Records {
  readonly records: readonly StoredRecord[];
  readonly more: boolean;
}

const PROGRESS = JOURNAL_KINDS.indexOf("progress");

/** The counters of a detailed run say again what its events say: they are no records of the journal. */
function rowsOf(db: Kysely<Schema>, journal: StoredJournal) {
  const rows = db.selectFrom("journal_events").selectAll().where("journal", "=", journal.id);
  if (journal.detail === 0) return rows;
  return rows.where(({ eb }) => eb(eb("kind", "&", KIND_MASK), "<>", PROGRESS));
}

async function recordsAfter(
  db: Kysely<Schema>,
  journals: readonly StoredJournal[],
  wanted: { readonly place: Place; readonly limit: number },
): Promise<Records> {
  const records: StoredRecord[] = [];
  for (const journal of journals) {
    if (journal.number < wanted.place.number) continue;
    const after = journal.number === wanted.place.number ? wanted.place.sequence : 0;
    const rows = await rowsOf(db, journal)
      .where("sequence", ">", after)
      .orderBy("sequence")
      // One more tells whether there is more.
      .limit(wanted.limit + 1 - records.length)
      .execute();
    records.push(...(await recordsOf(db, journal, rows)));
    if (records.length > wanted.limit) break;
  }
  return { records: records.slice(0, wanted.limit), more: records.length > wanted.limit };
}

async function newestRecords(
  db: Kysely<Schema>,
  journals: readonly StoredJournal[],
  limit: number,
): Promise<Records> {
  let records: StoredRecord[] = [];
  for (const journal of journals.toReversed()) {
    const rows = await rowsOf(db, journal)
      .orderBy("sequence", "desc")
      .limit(limit - records.length)
      .execute();
    records = [...(await recordsOf(db, journal, rows.toReversed())), ...records];
    if (records.length === limit) break;
  }
  return { records, more: false };
}

async function recordsOf(
  db: Kysely<Schema>,
  journal: StoredJournal,
  rows: readonly Schema["journal_events"][],
): Promise<StoredRecord[]> {
  const { attempt_id: runId, base_us: base, id, number } = journal;
  const events = await eventsOfRows(db, { id, runId, base }, rows);
  return events.map(({ event, received, sequence }) => ({
    cursor: cursorOf({ number, sequence }),
    received,
    event: JSON.stringify(event),
  }));
}

/** Holes that begin after one cursor or reach beyond it, up to another; null for all of them. */
export async function gapsBetween(
  db: Kysely<Schema>,
  journals: readonly StoredJournal[],
  between: { readonly after: number; readonly to: number | null },
): Promise<StoredGap[]> {
  if (journals.length === 0) return [];
  const stored = await db
    .selectFrom("journal_gaps")
    .selectAll()
    .where(
      "journal",
      "in",
      journals.map(({ id }) => id),
    )
    .orderBy("from_sequence")
    .execute();
  return journals
    .flatMap((journal) => [
      ...omissionOf(journal),
      ...stored.filter((gap) => gap.journal === journal.id).map((gap) => gapOf(journal, gap)),
    ])
    .filter(({ from, to }) => to > between.after && (between.to === null || from <= between.to))
    .map((gap) => clipped(gap, Math.max(gap.from, between.after + 1)));
}

/** For a reader that has seen the beginning of the hole while it was none. */
function clipped(gap: StoredGap, from: number): StoredGap {
  return { ...gap, from, events: Math.min(gap.events, gap.to - from + 1) };
}

function omissionOf(journal: StoredJournal): StoredGap[] {
  const { number, omitted, omitted_from: from, omitted_to: to } = journal;
  if (from === null || to === null) return [];
  const hole = {
    from: cursorOf({ number, sequence: from }),
    to: cursorOf({ number, sequence: to }),
  };
  return [{ runId: journal.attempt_id, ...hole, events: omitted, reason: "retention" }];
}

function gapOf(journal: StoredJournal, gap: Schema["journal_gaps"]): StoredGap {
  const { number } = journal;
  return {
    runId: journal.attempt_id,
    from: cursorOf({ number, sequence: gap.from_sequence }),
    to: cursorOf({ number, sequence: gap.to_sequence }),
    events: gap.n,
    reason: gap.reason as LossReason,
  };
}
