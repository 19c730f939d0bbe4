// Carries the events of before the journal into it, every row of them. Runs once, within its migration.
import { sql } from "kysely";
import { isTerminal, type RunEvent } from "@aim/contract";
import { USUAL_LIMITS } from "../../journal/retention.ts";
import type { Write } from "../transaction.ts";
import { attemptOf } from "../uses/attempt-row.ts";
import { appendToJournal, openJournal } from "../uses/journal-append.ts";

const PAGE = 1_000;

export async function carryEventsOver(write: Write): Promise<void> {
  const { db } = write;
  const found = await sql<{ id: string }>`
    SELECT DISTINCT attempt_id AS id FROM events ORDER BY attempt_id`.execute(db);
  for (const { id } of found.rows) await carryOne(write, id);
  await sql`DROP TABLE events`.execute(db);
}

async function carryOne(write: Write, attemptId: string): Promise<void> {
  const { db } = write;
  const attempt = attemptOf(
    await db
      .selectFrom("attempts")
      .selectAll()
      .where("id", "=", attemptId)
      .executeTakeFirstOrThrow(),
  );
  const ended = isTerminal(attempt.state);
  // Nothing of what is carried over is cut, and nothing is claimed of what was never recorded.
  const unlimited = { maxEvents: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER };
  let journal = await openJournal(write, attempt, USUAL_LIMITS);
  for (let after = 0; ;) {
    const { rows } = await sql<{ event: string }>`
      SELECT event FROM events WHERE attempt_id = ${attemptId} AND sequence > ${after}
      ORDER BY sequence LIMIT ${PAGE}`.execute(db);
    const events = rows.map(({ event }) => JSON.parse(event) as RunEvent);
    if (events.length === 0) break;
    after = events.at(-1)?.sequence ?? after;
    journal = await appendToJournal(write, journal, {
      events,
      lost: attempt.eventsLost,
      reason: "queue_full",
      now: null,
      limits: unlimited,
    });
  }
  if (!ended) return;
  await db
    .updateTable("journals")
    .set({ capture: "unavailable", checkpoint: null })
    .where("id", "=", journal.id)
    .execute();
}
