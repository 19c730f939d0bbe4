// Writes what a job's callbacks are told, in the transaction of the change that it tells of.
import type { CallbackEventName } from "@aim/contract";
import { formatTimestamp } from "../../base/clock.ts";
import { derivedId } from "../../base/ids.ts";
import type { Attempt, Job } from "../../execution/attempt.ts";
import { callbackEvent } from "../../execution/callback-event.ts";
import type { Write } from "../transaction.ts";

export interface Told {
  /** Null for a move that nobody is told of. */
  readonly name: CallbackEventName | null;
  readonly attempt: Attempt;
  readonly job: Job | null;
  readonly now: number;
}

/** Answers whether there is something to send. The caller holds the attempt, so that sequences have no rival. */
export async function tellCallbacks(write: Write, told: Told): Promise<boolean> {
  const { attempt, job, name } = told;
  if (name === null || job === null) return false;
  const callbacks = job.spec.callbacks ?? [];
  if (callbacks.length === 0) return false;
  const sequence = (await lastSequence(write, attempt.id)) + 1;
  const id = derivedId("evt", `${attempt.id} ${sequence}`);
  const time = formatTimestamp(told.now);
  const event = callbackEvent({ id, name, sequence, time }, attempt, job);
  const now = Math.round(told.now);
  const of = { customer_id: attempt.customer, attempt_id: attempt.id, sequence };
  await write.db
    .insertInto("outbox")
    .values({ id, ...of, type: event.type, body: JSON.stringify(event), created_ms: now })
    .execute();
  const deliveries = callbacks.flatMap(({ url, events }, index) =>
    events.includes(name) ? [{ event_id: id, callback_index: index, ...of, url }] : [],
  );
  if (deliveries.length === 0) return false;
  const fresh = { state: "waiting", tries: 0, since_ms: now, next_try_ms: now };
  await write.db
    .insertInto("deliveries")
    .values(deliveries.map((delivery) => ({ ...delivery, ...fresh })))
    .execute();
  return true;
}

async function lastSequence(write: Write, attemptId: string): Promise<number> {
  const last = await write.db
    .selectFrom("outbox")
    .select("sequence")
    .where("attempt_id", "=", attemptId)
    .orderBy("sequence", "desc")
    .limit(1)
    .executeTakeFirst();
  return last?.sequence ?? 0;
}
