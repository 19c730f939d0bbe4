// Stores a batch of events of a live lease. A repeated batch changes nothing; sequences only rise.
import { isTerminal, type ProblemCode, type RunEvent } from "@aim/contract";
import type { Write } from "../transaction.ts";
import { attemptOf } from "./attempt-row.ts";

export interface AppendEvents {
  readonly attemptId: string;
  readonly epoch: number;
  readonly events: readonly RunEvent[];
  readonly lost: number;
  readonly now: number;
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
  const fresh = use.events.filter((event) => event.sequence > attempt.lastSequence);
  if (fresh.length > 0) {
    await write.db
      .insertInto("events")
      .values(
        fresh.map((event) => ({
          attempt_id: attempt.id,
          sequence: event.sequence,
          customer_id: attempt.customer,
          event: JSON.stringify(event),
        })),
      )
      .execute();
  }
  const last = fresh.at(-1)?.sequence ?? attempt.lastSequence;
  await write.db
    .updateTable("attempts")
    .set({ last_sequence: last, events_lost: Math.max(attempt.eventsLost, use.lost) })
    .where("id", "=", attempt.id)
    .where("epoch", "=", use.epoch)
    .execute();
  return null;
}
