// Ends the journal of an attempt in the transaction that ends the attempt: the plane's own last event, the losses that
// the runner told, and whether the capture was closed at all.
import { EVENT_VERSION, type JournalSummary, type RunEvent } from "@aim/contract";
import { formatTimestamp } from "../../base/clock.ts";
import type { Attempt } from "../../execution/attempt.ts";
import { USUAL_LIMITS } from "../../journal/retention.ts";
import type { Schema, StoredJournal } from "../schema.ts";
import type { Write } from "../transaction.ts";
import { appendToJournal, openJournal } from "./journal-append.ts";
import { eventsOfRows } from "./journal-rows.ts";

export interface CloseJournal {
  /** As its end left it: its newest sequence is that of the result event. */
  readonly attempt: Attempt;
  /** Code of the result's error. */
  readonly error: string | null;
  /** The runner told its last event and its losses, or there never was a runner. */
  readonly closed: boolean;
  readonly now: number;
}

export async function closeJournal(write: Write, use: CloseJournal): Promise<JournalSummary> {
  const { attempt, now } = use;
  const before = await openJournal(write, attempt, USUAL_LIMITS);
  const event: RunEvent = {
    event_version: EVENT_VERSION,
    run_id: attempt.id,
    sequence: attempt.lastSequence,
    // The runner has a clock of its own; a run's time never goes back.
    timestamp: later(formatTimestamp(now), await lastTimestamp(write, before)),
    kind: "result",
    state: attempt.state,
    error: use.error,
  };
  const capture = before.capture === "live" && use.closed ? "closed" : before.capture;
  const addition = {
    events: [event],
    lost: attempt.eventsLost,
    reason: "not_delivered",
    now,
  } as const;
  const after = await appendToJournal(write, { ...before, capture }, addition);
  return {
    stored: after.stored,
    lost: after.lost,
    first_sequence: after.first_sequence,
    last_sequence: after.first_sequence === null ? null : after.last_sequence,
  };
}

function later(one: string, other: string): string {
  return one < other ? other : one;
}

async function lastTimestamp({ db }: Write, journal: StoredJournal): Promise<string> {
  const rows: Schema["journal_events"][] = await db
    .selectFrom("journal_events")
    .selectAll()
    .where("journal", "=", journal.id)
    .orderBy("sequence", "desc")
    .limit(1)
    .execute();
  const readable = { id: journal.id, runId: journal.attempt_id, base: journal.base_us };
  const [last] = await eventsOfRows(db, readable, rows);
  return last?.event.timestamp ?? "";
}
