// The retained journal as a principal may read it: pages, and a snapshot of all that is known at one cursor.
import {
  AimError,
  type Coverage,
  type JournalCheckpoint,
  type JournalGap,
  type JournalMatrix,
  type JournalPage,
  type JournalRecord,
  type JournalSnapshot,
  type Principal,
} from "@aim/contract";
import { allowed } from "../audit/chain.ts";
import { formatTimestamp } from "../base/clock.ts";
import { captureOf } from "../journal/capture.ts";
import { CHANGED, IGNORED, type Checkpoint } from "../journal/checkpoint.ts";
import { addToMatrix, emptyMatrix, matrixOf, namesOfMatrix } from "../journal/matrix.ts";
import { USUAL_LIMITS } from "../journal/retention.ts";
import type { StoredGap, StoredRecord } from "../store/uses/journal-read.ts";
import type { KnownJournal } from "../store/uses/journal-snapshot.ts";
import type { CoreParts } from "./parts.ts";
import { findJob } from "./rights.ts";

/** Rows that one look reads for the matrix, so that no look takes long. */
const MATRIX_ROWS = 5_000;
const NAMES_AT_ONCE = 1_000;

export type JournalParts = Pick<CoreParts, "store" | "clock">;

export interface JournalQuery {
  readonly jobId: string;
  /** Null for the newest records. */
  readonly after: number | null;
  readonly limit: number;
}

export interface Journals {
  readonly page: (who: Principal, query: JournalQuery) => Promise<JournalPage>;
  readonly snapshot: (who: Principal, jobId: string) => Promise<JournalSnapshot>;
  /** Forgets an ended job and all that it left. */
  readonly remove: (who: Principal, jobId: string) => Promise<void>;
}

export function createJournals(parts: JournalParts): Journals {
  return {
    page: (who, query) => page(parts, who, query),
    snapshot: (who, jobId) => snapshot(parts, who, jobId),
    remove: (who, jobId) => remove(parts, who, jobId),
  };
}

async function page(
  parts: JournalParts,
  who: Principal,
  query: JournalQuery,
): Promise<JournalPage> {
  const { jobId } = query;
  await findJob(parts.store, { who, action: "job.read", jobId });
  const read = await parts.store.readJournal(query);
  if (read === null) throw new AimError("not_found");
  return {
    job_id: jobId,
    records: read.records.map((record) => ({
      ...recordHead(record),
      event: JSON.parse(record.event) as JournalRecord["event"],
    })),
    gaps: read.gaps.map(gapView),
    cursor: read.cursor,
    more: read.more,
  };
}

export function recordHead({ cursor, received }: StoredRecord): Omit<JournalRecord, "event"> {
  return { cursor, received_at: formatTimestamp(received) };
}

export function gapView({ runId, ...gap }: StoredGap): JournalGap {
  return { run_id: runId, ...gap };
}

async function snapshot(
  parts: JournalParts,
  who: Principal,
  jobId: string,
): Promise<JournalSnapshot> {
  await findJob(parts.store, { who, action: "job.read", jobId });
  const known = await parts.store.readKnownJournals({ jobId });
  const newest = known?.attempts.at(-1);
  if (known === null || newest === undefined) throw new AimError("not_found");
  const { cursor } = known;
  return {
    job_id: jobId,
    cursor,
    capture: captureOf(newest.attempt.state, newest.journal?.capture ?? null),
    checkpoint: checkpointView(newest.journal?.seen ?? null),
    coverage: known.attempts.map(coverageView),
    gaps: known.gaps.filter(({ reason }) => reason !== "retention").map(gapView),
    matrix: await readMatrix(parts, newest, cursor),
  };
}

function checkpointView(seen: Checkpoint | null): JournalCheckpoint | null {
  if (seen === null) return null;
  return {
    stage: seen.stage,
    play: seen.play,
    task: seen.task,
    task_starts: seen.task_starts,
    tasks: [...seen.tasks],
    hosts: seen.hosts.map(([host, play_id, task_id, status, flags, hint, sequence]) => ({
      host,
      play_id,
      task_id,
      status,
      changed: (flags & CHANGED) !== 0,
      ignored: (flags & IGNORED) !== 0,
      hint,
      sequence,
    })),
  };
}

/** Of an attempt without a journal. */
const NOTHING_KEPT = {
  capture: null,
  stored: 0,
  lost: 0,
  retained: 0,
  bytes: 0,
  first_sequence: null,
  last_sequence: 0,
  omitted: 0,
  omitted_from: null,
  omitted_to: null,
  max_events: USUAL_LIMITS.maxEvents,
  max_bytes: USUAL_LIMITS.maxBytes,
} as const;

function coverageView({ attempt, journal: found }: KnownJournal): Coverage {
  const { id, number, state } = attempt;
  const journal = found ?? NOTHING_KEPT;
  const { omitted, omitted_from: from, omitted_to: to } = journal;
  return {
    run_id: id,
    number,
    state,
    capture: captureOf(state, journal.capture),
    stored: journal.stored,
    lost: journal.lost,
    retained: {
      events: journal.retained,
      bytes: journal.bytes,
      first_sequence: journal.first_sequence,
      last_sequence: journal.retained > 0 ? journal.last_sequence : null,
    },
    omitted:
      from === null || to === null
        ? null
        : { events: omitted, from_sequence: from, to_sequence: to },
    limits: { max_events: journal.max_events, max_bytes: journal.max_bytes },
  };
}

async function readMatrix(
  { store }: JournalParts,
  { journal }: KnownJournal,
  cursor: number,
): Promise<JournalMatrix> {
  const fold = emptyMatrix();
  if (journal === null) return matrixOf(fold, cursor, String);
  const window = { journal: journal.id, to: journal.last_sequence, limit: MATRIX_ROWS };
  for (let after = 0; ;) {
    const rows = await store.readMatrixRows({ ...window, after });
    addToMatrix(fold, rows);
    after = rows.at(-1)?.sequence ?? after;
    if (rows.length < MATRIX_ROWS) break;
  }
  const ids = namesOfMatrix(fold);
  const names = new Map<number, string>();
  for (let from = 0; from < ids.length; from += NAMES_AT_ONCE) {
    const some = ids.slice(from, from + NAMES_AT_ONCE);
    const found = await store.readJournalNames({ journal: journal.id, ids: some });
    for (const { id, name } of found) names.set(id, name);
  }
  // A name may have gone with its last row since the rows were read.
  return matrixOf(fold, cursor, (id) => names.get(id) ?? '""');
}

async function remove(parts: JournalParts, who: Principal, jobId: string): Promise<void> {
  const action = "job.delete";
  const { customer } = (await findJob(parts.store, { who, action, jobId })).job;
  const now = parts.clock.now();
  const audit = allowed(who, { action, customer, what: { job_id: jobId }, now });
  const code = await parts.store.deleteJob({ jobId, now, audit });
  if (code !== null) throw new AimError(code);
}
