// Appends a heartbeat; a repeated one is not stored again.
import type { Heartbeat } from "@aim/contract";
import type { Command } from "../../execution/step.ts";
import type { Write } from "../transaction.ts";
import { applyStep, type Applied } from "./apply-step.ts";

export interface PutHeartbeat extends Pick<Command, "silentCancel"> {
  readonly attemptId: string;
  readonly heartbeat: Heartbeat;
  readonly ttlMs: number;
  readonly now: number;
}

export async function putHeartbeat(write: Write, use: PutHeartbeat): Promise<Applied | null> {
  const { attemptId, heartbeat, now, ...of } = use;
  const { epoch } = heartbeat;
  const applied = await applyStep(write, {
    attemptId,
    command: { do: "heartbeat", epoch, ...of },
    now,
  });
  if (applied === null || applied.code !== null) return applied;
  await write.db
    .insertInto("heartbeats")
    .values({
      attempt_id: attemptId,
      epoch,
      seq: heartbeat.seq,
      customer_id: applied.attempt.customer,
      at_ms: Math.round(now),
      phase: heartbeat.phase,
      last_event_sequence: heartbeat.last_event_sequence,
      events_lost: heartbeat.events_lost,
    })
    .onConflict((conflict) => conflict.columns(["attempt_id", "epoch", "seq"]).doNothing())
    .execute();
  return applied;
}
