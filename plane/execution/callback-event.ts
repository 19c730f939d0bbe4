// What callbacks are told of an attempt, and when. Pure.
import {
  CALLBACK_SOURCE,
  callbackType,
  isTerminal,
  type AttemptState,
  type CallbackEvent,
  type CallbackEventName,
} from "@aim/contract";
import type { Attempt, Job } from "./attempt.ts";

/** The event that a move makes, or null for one that nobody is told of. */
export function eventOfMove(from: AttemptState, to: AttemptState): CallbackEventName | null {
  if (from === to) return null;
  if (isTerminal(to)) return "attempt.ended";
  return to === "running" ? "attempt.started" : null;
}

export interface Telling {
  readonly id: string;
  readonly name: CallbackEventName;
  readonly sequence: number;
  /** RFC 3339. */
  readonly time: string;
}

export function callbackEvent(telling: Telling, attempt: Attempt, job: Job): CallbackEvent {
  const { operation_id, plan_node_id, node_run_id } = job.spec;
  return {
    specversion: "1.0",
    id: telling.id,
    source: CALLBACK_SOURCE,
    type: callbackType(telling.name),
    subject: attempt.id,
    time: telling.time,
    datacontenttype: "application/json",
    sequence: String(telling.sequence),
    data: {
      run_id: attempt.id,
      job_id: job.id,
      customer: job.customer,
      job_type: job.spec.job_type,
      state: attempt.state,
      effect: attempt.effect,
      evidence: attempt.evidence,
      failure_category: attempt.failureCategory,
      error: attempt.result?.error?.code ?? null,
      ...(operation_id === undefined ? {} : { operation_id }),
      ...(plan_node_id === undefined ? {} : { plan_node_id }),
      ...(node_run_id === undefined ? {} : { node_run_id }),
    },
  };
}
