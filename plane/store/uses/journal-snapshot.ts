// What is known of a job's journals as wholes, and the rows that tell which host had which result.
import type { Kysely } from "kysely";
import type { Attempt } from "../../execution/attempt.ts";
import type { Checkpoint } from "../../journal/checkpoint.ts";
import { MATRIX_KINDS, type MatrixRow } from "../../journal/matrix.ts";
import { KIND_MASK } from "../../journal/row.ts";
import type { Schema, StoredJournal } from "../schema.ts";
import { attemptOf } from "./attempt-row.ts";
import { gapsBetween, lastCursor, readJournals, type StoredGap } from "./journal-read.ts";

export interface KnownJournal {
  readonly attempt: Attempt;
  /** Null for an attempt without one. */
  readonly journal: (StoredJournal & { readonly seen: Checkpoint | null }) | null;
}

export interface KnownJournals {
  readonly cursor: number;
  /** Oldest first, never empty. */
  readonly attempts: readonly KnownJournal[];
  readonly gaps: readonly StoredGap[];
}

/** Null for a job that is not there. */
export async function readKnownJournals(
  db: Kysely<Schema>,
  use: { readonly jobId: string },
): Promise<KnownJournals | null> {
  const rows = await db
    .selectFrom("attempts")
    .selectAll()
    .where("job_id", "=", use.jobId)
    .orderBy("number")
    .execute();
  if (rows.length === 0) return null;
  const journals = await readJournals(db, use.jobId);
  const gaps = await gapsBetween(db, journals, { after: -1, to: null });
  const byAttempt = new Map(journals.map((journal) => [journal.attempt_id, journal]));
  const known = rows.map((row) => {
    const journal = byAttempt.get(row.id);
    return { attempt: attemptOf(row), journal: journal === undefined ? null : withSeen(journal) };
  });
  return { cursor: lastCursor(journals), attempts: known, gaps };
}

function withSeen(journal: StoredJournal) {
  const { checkpoint } = journal;
  return { ...journal, seen: checkpoint === null ? null : (JSON.parse(checkpoint) as Checkpoint) };
}

export interface ReadMatrixRows {
  readonly journal: number;
  readonly after: number;
  readonly to: number;
  readonly limit: number;
}

export async function readMatrixRows(
  db: Kysely<Schema>,
  use: ReadMatrixRows,
): Promise<MatrixRow[]> {
  return db
    .selectFrom("journal_events")
    .select(["sequence", "kind", "task", "name"])
    .where("journal", "=", use.journal)
    .where("sequence", ">", use.after)
    .where("sequence", "<=", use.to)
    .where(({ eb }) => eb(eb("kind", "&", KIND_MASK), "in", [...MATRIX_KINDS]))
    .orderBy("sequence")
    .limit(use.limit)
    .execute();
}
