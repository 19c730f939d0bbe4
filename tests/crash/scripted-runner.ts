// A runner in the test's own process: speaks the real protocol, is patient, and remembers what it was told.
import {
  pathOf,
  type AttemptGrant,
  type Completion,
  type Grant,
  type Heartbeat,
  type HeartbeatAnswer,
  type RouteName,
} from "@aim/contract";
import { newId } from "../../plane/base/ids.ts";
import { sha256 } from "../../plane/store/blobs.ts";
import type { Chance } from "../simulation/chance.ts";
import { registration } from "../simulation/runner-model.ts";
import { aCompletion, anEvent } from "../store/samples.ts";
import type { Door, Heard } from "./place.ts";
import { rememberEvents, type Told } from "./told.ts";

const WAIT_MS = 500;
const EVENTS_PER_BATCH = 3;

export interface ScriptedRunner {
  readonly door: Door;
  readonly told: Told;
  readonly chance: Chance;
  /** Ends it after the attempt under way. */
  readonly over: AbortSignal;
  /** How often an attempt is let go without a word. */
  readonly silence?: number;
}

interface Work {
  readonly grant: AttemptGrant;
  sequence: number;
  beats: number;
  stopping: boolean;
}

/** Thrown inside when the plane says that an attempt is no longer this runner's. */
class LetGo extends Error {}

export async function runScripted(parts: ScriptedRunner): Promise<void> {
  const { told, chance, over } = parts;
  const id = newId("rnr");
  let claimId = newId("clm");

  const post = <T>(route: RouteName, body: unknown, run_id = ""): Promise<Heard<T>> =>
    parts.door.ask<T>("runner", { path: pathOf(route, { run_id }), body: JSON.stringify(body) });

  async function insist<T>(route: RouteName, body: unknown, attemptId: string): Promise<T> {
    const answer = await post<T>(route, body, attemptId);
    if (answer.ok) return answer.response;
    if (answer.code === "internal") told.broken.push(`${route} of ${attemptId}: ${answer.text}`);
    throw new LetGo(answer.code);
  }

  async function carryOut(work: Work): Promise<void> {
    const { attempt_id: attemptId, epoch } = work.grant;
    for (const to of ["preparing", "running"] as const) {
      await move(work, to);
      if (!work.stopping) await beat(work, to);
    }
    if (chance.happens(parts.silence ?? 0.03)) return;
    for (let batch = 0; batch < 2 && !work.stopping; batch += 1) {
      await sendEvents(work);
      await beat(work, "running");
    }
    if (!work.stopping) await move(work, "finalizing");
    const completion = completionOf(work, await upload(work));
    const { state } = await insist<{ state: string }>("complete", completion, attemptId);
    if (state !== completion.outcome.verdict)
      told.broken.push(`${attemptId} was answered ${state}`);
    told.ended.set(attemptId, state);
    if (!chance.happens(0.1)) return;
    const again = await insist<{ state: string }>("complete", completion, attemptId);
    if (again.state !== state) told.broken.push(`${attemptId} ${epoch} changed to ${again.state}`);
  }

  async function move(work: Work, to: "preparing" | "running" | "finalizing"): Promise<void> {
    const { attempt_id, epoch } = work.grant;
    const answer = await post<HeartbeatAnswer>("move", { epoch, to }, attempt_id);
    if (answer.ok) work.stopping ||= answer.response.cancel !== null;
    // A stop was asked for, and no beat has told of it yet.
    else if (answer.code === "state_conflict") work.stopping = true;
    else throw new LetGo(answer.code);
  }

  async function beat(work: Work, phase: Heartbeat["phase"]): Promise<void> {
    const { attempt_id: attemptId, epoch } = work.grant;
    work.beats += 1;
    const seq = work.beats;
    const heartbeat = { epoch, seq, phase, last_event_sequence: work.sequence, events_lost: 0 };
    const answer = await insist<HeartbeatAnswer>("heartbeat", heartbeat, attemptId);
    told.heartbeats.add(`${attemptId} ${epoch} ${seq}`);
    work.stopping ||= answer.cancel !== null;
  }

  async function sendEvents(work: Work): Promise<void> {
    const { attempt_id: attemptId, epoch } = work.grant;
    const events = Array.from({ length: EVENTS_PER_BATCH }, () => {
      work.sequence += 1;
      return anEvent({ id: attemptId } as never, work.sequence);
    });
    await insist("events", { epoch, events, lost: 0 }, attemptId);
    rememberEvents(told, attemptId, events);
  }

  async function upload({ grant }: Work): Promise<Completion["manifest"]["files"]> {
    const { attempt_id: run_id, epoch } = grant;
    const bytes = `the result of ${run_id}\n`;
    const digest = sha256(bytes);
    const answer = await parts.door.ask("runner", {
      method: "PUT",
      path: pathOf("upload", { run_id, sha256: digest }),
      body: bytes,
      contentType: "application/octet-stream",
      headers: {
        "aim-epoch": String(epoch),
        "content-range": `bytes 0-${bytes.length - 1}/${bytes.length}`,
      },
    });
    if (!answer.ok) throw new LetGo(answer.code);
    told.kept.set(digest, bytes);
    return [{ path: "result/result.json", kind: "result", sha256: digest, size: bytes.length }];
  }

  function completionOf(work: Work, files: Completion["manifest"]["files"]): Completion {
    const { epoch, attempt_id } = work.grant;
    const plain = aCompletion(epoch, { last_event_sequence: work.sequence });
    const verdict = work.stopping ? "cancelled" : chance.happens(0.8) ? "succeeded" : "failed";
    const manifest = { ...plain.manifest, attempt_id, files };
    return { ...plain, manifest, outcome: { ...plain.outcome, verdict } };
  }

  async function claim(): Promise<void> {
    const request = { runner_instance_id: id, claim_id: claimId, wait_ms: WAIT_MS };
    const answer = await post<Grant | null>("claim", request);
    // A plane that was started anew may not know this runner.
    if (!answer.ok) return void (await post("register", registration(id)));
    claimId = newId("clm");
    const grant = answer.response;
    if (grant?.kind !== "attempt") return;
    told.grants.push({ attemptId: grant.attempt_id, epoch: grant.epoch, runner: id });
    await carryOut({ grant, sequence: 0, beats: 0, stopping: false });
  }

  await post("register", registration(id));
  while (!over.aborted) {
    await claim().catch((error: unknown) => {
      if (!(error instanceof LetGo)) throw error;
    });
  }
}

/** Takes the one attempt that waits and reports that it failed before anything ran. */
export async function failWaiting(door: Door): Promise<void> {
  const id = newId("rnr");
  const post = async <T>(route: RouteName, body: unknown, run_id = ""): Promise<T> => {
    const path = pathOf(route, { run_id });
    const answer = await door.ask<T>("runner", { path, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${route} was refused: ${answer.text}`);
    return answer.response;
  };
  await post("register", registration(id));
  const claim = { runner_instance_id: id, claim_id: newId("clm"), wait_ms: 10_000 };
  const grant = await post<AttemptGrant>("claim", claim);
  const { attempt_id, epoch } = grant;
  await post("move", { epoch, to: "preparing" }, attempt_id);
  const plain = aCompletion(epoch);
  const manifest = { ...plain.manifest, attempt_id };
  const outcome = { ...plain.outcome, verdict: "failed", effect: "none" } as const;
  await post("complete", { ...plain, manifest, outcome }, attempt_id);
}
