// A page of a run's events after a sequence, in order. What retention removed is not there any more.
import type { Kysely } from "kysely";
import type { Schema } from "../schema.ts";
import { eventsOfRows } from "./journal-rows.ts";

export interface ReadEvents {
  readonly attemptId: string;
  readonly after: number;
  readonly limit: number;
}

/** Events as JSON texts. */
export async function readEvents(
  db: Kysely<Schema>,
  use: ReadEvents,
): Promise<{ sequence: number; event: string }[]> {
  const journal = await db
    .selectFrom("journals")
    .select(["id", "base_us"])
    .where("attempt_id", "=", use.attemptId)
    .executeTakeFirst();
  if (journal === undefined) return [];
  const rows = await db
    .selectFrom("journal_events")
    .selectAll()
    .where("journal", "=", journal.id)
    .where("sequence", ">", use.after)
    .orderBy("sequence")
    .limit(use.limit)
    .execute();
  const readable = { id: journal.id, runId: use.attemptId, base: journal.base_us };
  const events = await eventsOfRows(db, readable, rows);
  return events.map(({ sequence, event }) => ({ sequence, event: JSON.stringify(event) }));
}
