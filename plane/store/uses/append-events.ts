// Stores a batch of events of a live lease. A repeated batch changes nothing; sequences only rise.
import { isTerminal, type ProblemCode, type RunEvent } from "@aim/contract";
import { USUAL_LIMITS, type JournalLimits } from "../../journal/retention.ts";
import type { Write } from "../transaction.ts";
import { attemptOf } from "./attempt-row.ts";
import { appendToJournal, openJournal } from "./journal-append.ts";

export interface AppendEvents {
  readonly attemptId: string;
  readonly epoch: number;
  readonly events: readonly RunEvent[];
  readonly lost: number;
  readonly now: number;
  /** Of a journal that begins with this batch; the usual ones when absent. */
  readonly limits?: JournalLimits;
}

/** Answers a refusal, or null once the batch is durable. */
export async function appendEvents(write: Write, use: AppendEvents): Promise<ProblemCode | null> {
  const row = await write.rows
    .hold(write.db.selectFrom("attempts").selectAll().where("id", "=", use.attemptId))
    .executeTakeFirst();
  if (row === undefined) return "not_found";
  const attempt = attemptOf(row);
  if (attempt.epoch !== use.epoch) return "epoch_stale";
  if (isTerminal(attempt.state)) return "lease_lost";
  if (attempt.leaseExpires !== null && use.now >= attempt.leaseExpires) return "lease_lost";
  if (use.events.some(({ run_id }) => run_id !== attempt.id)) return "invalid_request";
  const before = await openJournal(write, attempt, use.limits ?? USUAL_LIMITS);
  const { events, lost, now } = use;
  const after = await appendToJournal(write, before, { events, lost, reason: "queue_full", now });
  await write.db
    .updateTable("attempts")
    .set({ last_sequence: after.last_sequence, events_lost: after.lost })
    .where("id", "=", attempt.id)
    .where("epoch", "=", use.epoch)
    .execute();
  return null;
}
