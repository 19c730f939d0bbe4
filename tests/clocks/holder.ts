// A runner that takes one attempt and holds it with heartbeats until it is told what else to do.
import { setTimeout as delay } from "node:timers/promises";
import { pathOf, type AttemptGrant, type HeartbeatAnswer, type RouteName } from "@aim/contract";
import { newId } from "../../plane/base/ids.ts";
import type { Door, Heard } from "../crash/place.ts";
import { registration } from "../simulation/runner-model.ts";
import { aCompletion } from "../store/samples.ts";

const BEAT_MS = 250;

export interface Holder {
  readonly runId: string;
  readonly beats: () => number;
  /** Codes that a heartbeat was refused with. */
  readonly refusals: readonly string[];
  /** No more heartbeats, without a word. */
  readonly fallSilent: () => void;
  /** Reports success; answers the state that was answered, or the code of the refusal. */
  readonly succeed: () => Promise<string>;
}

/** The attempt must be the only one that waits. */
export async function hold(door: Door): Promise<Holder> {
  const id = newId("rnr");
  const post = <T>(route: RouteName, body: unknown, run_id = ""): Promise<Heard<T>> =>
    door.ask<T>("runner", { path: pathOf(route, { run_id }), body: JSON.stringify(body) });
  await post("register", registration(id));
  const claim = { runner_instance_id: id, claim_id: newId("clm"), wait_ms: 10_000 };
  const claimed = await post<AttemptGrant>("claim", claim);
  if (!claimed.ok) throw new Error(claimed.text);
  const { attempt_id: runId, epoch } = claimed.response;
  await post("move", { epoch, to: "preparing" }, runId);
  await post("move", { epoch, to: "running" }, runId);
  let seq = 0;
  const quiet = new AbortController();
  const refusals: string[] = [];

  async function beat(): Promise<void> {
    while (!quiet.signal.aborted) {
      seq += 1;
      const counters = { phase: "running", last_event_sequence: 0, events_lost: 0 };
      const answer = await post<HeartbeatAnswer>("heartbeat", { epoch, seq, ...counters }, runId);
      if (!answer.ok) refusals.push(answer.code);
      await delay(BEAT_MS);
    }
  }
  const beating = beat();

  return {
    runId,
    beats: () => seq,
    refusals,
    fallSilent: () => quiet.abort(),
    succeed: async () => {
      await post("move", { epoch, to: "finalizing" }, runId);
      const plain = aCompletion(epoch);
      const manifest = { ...plain.manifest, attempt_id: runId };
      const answer = await post<{ state: string }>("complete", { ...plain, manifest }, runId);
      quiet.abort();
      await beating;
      return answer.ok ? answer.response.state : answer.code;
    },
  };
}
