// The rows of a journal: many written at once, and pages of them read back as events.
import { CompiledQuery, type Kysely } from "kysely";
import type { RunEvent } from "@aim/contract";
import { eventOf, namesIn, receivedAt, type JournalRow } from "../../journal/row.ts";
import type { Schema } from "../schema.ts";
import type { RowLocks, Write } from "../transaction.ts";
import { readNames } from "./journal-names.ts";

type StoredRow = Schema["journal_events"];

const COLUMNS = [
  "journal",
  "sequence",
  "at",
  "delay",
  "kind",
  "play",
  "task",
  "name",
  "detail",
  "more",
  "bytes",
  "customer_id",
] as const satisfies readonly (keyof StoredRow)[];

/** Few different statements, so that each is prepared once: every number is a sum of these. */
const SIZES = [128, 64, 32, 16, 8, 4, 2, 1] as const;

/** One text for each dialect and number of rows; building it anew would cost more than the insert. */
const texts = new WeakMap<RowLocks, Map<number, string>>();

export async function insertRows(write: Write, rows: readonly StoredRow[]): Promise<void> {
  let from = 0;
  for (const size of SIZES) {
    for (; rows.length - from >= size; from += size) {
      const some = rows.slice(from, from + size);
      const values = some.flatMap((row) => COLUMNS.map((column) => row[column]));
      await write.db.executeQuery(CompiledQuery.raw(textOf(write, some), values));
    }
  }
}

function textOf({ db, rows: dialect }: Write, some: readonly StoredRow[]): string {
  const known = texts.get(dialect) ?? new Map<number, string>();
  texts.set(dialect, known);
  let text = known.get(some.length);
  if (text === undefined) {
    const one = Object.fromEntries(COLUMNS.map((column) => [column, null])) as unknown as StoredRow;
    const insert = db.insertInto("journal_events").values(some.map(() => one));
    text = insert.compile().sql;
    known.set(some.length, text);
  }
  return text;
}

export interface Readable {
  readonly id: number;
  readonly runId: string;
  readonly base: number;
}

export interface StoredEvent {
  readonly sequence: number;
  /** Plane time in milliseconds. */
  readonly received: number;
  readonly event: RunEvent;
}

export async function eventsOfRows(
  db: Kysely<Schema>,
  journal: Readable,
  rows: readonly JournalRow[],
): Promise<StoredEvent[]> {
  const nameOf = await readNames(db, journal.id, new Set(rows.flatMap(namesIn)));
  const { base, runId } = journal;
  return rows.map((row) => ({
    sequence: row.sequence,
    received: receivedAt(row, base),
    event: eventOf(row, { runId, base, nameOf }),
  }));
}
