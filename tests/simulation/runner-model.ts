// A runner as the plane sees one: claims, beats, moves on, sends events, reports; sometimes it is paused or dies.
import {
  AimError,
  type AttemptGrant,
  type Completion,
  type Register,
  type RunEvent,
} from "@aim/contract";
import { newId } from "../../plane/base/ids.ts";
import { aCompletion, anEvent } from "../store/samples.ts";
import { DEADLINE, rememberCompletion, rememberEvents, type World } from "./world.ts";

const POLL_MS = 1_000;
const BEAT_MS = 1_000;
const STEP_MS = 600;
/** Answers at once, whether something waits or not. */
const NO_WAIT = AbortSignal.abort();

interface Work {
  readonly grant: AttemptGrant;
  /** Counted from the moment the last extension was asked for. */
  leaseUntil: number;
  beats: number;
  sequence: number;
  stopping: boolean;
  over: boolean;
}

export function createRunnerModel(world: World, seed: number, number: number): void {
  const { timeline, chance } = world;
  const id = `rnr_${seed}_${number}`;
  let paused = false;
  let claimId = newId("clm");

  const later = (ms: number, happen: () => Promise<void>): void =>
    timeline.after(ms * (0.5 + chance.next()), async () => {
      // A paused process does nothing; what it would have done it does when it goes on.
      if (paused) return later(ms, happen);
      await happen();
    });

  if (chance.happens(0.3)) {
    timeline.after(chance.upTo(20_000), async () => {
      paused = true;
      timeline.after(chance.upTo(12_000), async () => {
        paused = false;
      });
    });
  }

  async function poll(): Promise<void> {
    // Nothing is left to be handed out: what would come now is this same question again and again.
    if (await world.over()) return later(POLL_MS, poll);
    const request = { runner_instance_id: id, claim_id: claimId, wait_ms: 0 };
    const sent = timeline.now();
    const heard = await world.call((plane) => plane.claim(request, NO_WAIT)).catch(refused);
    // A plane that started anew knows no runner.
    if (heard === REFUSED) await world.call((plane) => plane.register(registration(id)));
    if (heard === null || heard === REFUSED) return later(POLL_MS, poll);
    claimId = newId("clm");
    if (heard.answer === null || heard.answer.kind !== "attempt") return later(POLL_MS, poll);
    begin({
      grant: heard.answer,
      leaseUntil: sent + heard.answer.lease_ms,
      beats: 0,
      sequence: 0,
      stopping: false,
      over: false,
    });
  }

  function begin(work: Work): void {
    later(BEAT_MS, () => beat(work));
    later(STEP_MS, () => moveOn(work, 0));
  }

  async function beat(work: Work): Promise<void> {
    if (work.over) return;
    work.beats += 1;
    const sent = timeline.now();
    const { attempt_id, epoch } = work.grant;
    const heartbeat = {
      epoch,
      seq: work.beats,
      phase: "running",
      last_event_sequence: work.sequence,
      events_lost: 0,
    } as const;
    const heard = await world
      .call((plane) => plane.heartbeat(attempt_id, heartbeat))
      .catch(refused);
    if (heard === REFUSED) work.over = true;
    else if (heard !== null) {
      work.leaseUntil = sent + heard.answer.lease_ms;
      work.stopping ||= heard.answer.cancel !== null;
    }
    if (!work.over) later(BEAT_MS, () => beat(work));
  }

  const MOVES = ["preparing", "running", "finalizing"] as const;

  async function moveOn(work: Work, place: number): Promise<void> {
    if (work.over) return end();
    const to = MOVES[place];
    if (to === undefined || work.stopping) return report(work, completionOf(work), 0);
    const { attempt_id, epoch } = work.grant;
    const heard = await world.call((plane) => plane.move(attempt_id, { epoch, to })).catch(refused);
    if (heard === REFUSED) work.stopping = true;
    if (heard === null) return later(STEP_MS, () => moveOn(work, place));
    if (to === "running" && heard !== REFUSED) await sendEvents(work);
    later(STEP_MS, () => moveOn(work, place + 1));
  }

  async function sendEvents(work: Work): Promise<void> {
    const { attempt_id, epoch } = work.grant;
    const events: RunEvent[] = Array.from({ length: 3 }, () => {
      work.sequence += 1;
      return anEvent({ id: attempt_id } as never, work.sequence);
    });
    const batch = { epoch, events, lost: 0 };
    for (let tries = 0; tries < 5; tries += 1) {
      const heard = await world.call((plane) => plane.events(attempt_id, batch)).catch(refused);
      if (heard === REFUSED) return;
      if (heard !== null) return rememberEvents(world, attempt_id, events);
    }
    work.sequence -= events.length;
  }

  function completionOf(work: Work): Completion {
    const { epoch } = work.grant;
    const stopped = timeline.now() >= DEADLINE ? "timed_out" : "cancelled";
    const verdict = work.stopping ? stopped : chance.happens(0.8) ? "succeeded" : "failed";
    const plain = aCompletion(epoch, { last_event_sequence: work.sequence });
    const manifest = { ...plain.manifest, attempt_id: work.grant.attempt_id };
    return { ...plain, manifest, outcome: { ...plain.outcome, verdict } };
  }

  async function report(work: Work, completion: Completion, tries: number): Promise<void> {
    const { attempt_id } = work.grant;
    const heard = await world
      .call((plane) => plane.complete(attempt_id, completion))
      .catch(refused);
    if (heard !== null && heard !== REFUSED) rememberCompletion(world, attempt_id, completion);
    if (heard === null && tries < 30) {
      return later(STEP_MS, () => report(work, completion, tries + 1));
    }
    work.over = true;
    end();
  }

  function end(): void {
    later(POLL_MS, poll);
  }

  later(POLL_MS, poll);
}

const REFUSED = { answer: null as never };

function refused(error: unknown): typeof REFUSED {
  if (error instanceof AimError) return REFUSED;
  throw error;
}

export function registration(id: string): Register {
  return {
    runner_instance_id: id,
    runner_kind: "process",
    job_types: ["ansible.playbook.run", "ansible.inventory.validate"],
    slots: 1,
    runtime: {
      ansible_core: "2.19.11",
      python: "3.11",
      callback_digest: "c".repeat(64),
      isolation: "bubblewrap",
      sandbox_checks: { passed: 1, failed: 0 },
    },
  };
}
