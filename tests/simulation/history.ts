// One history: jobs, runners, a plane that crashes, a network that loses, repeats and delays, and what must hold.
import { isTerminal } from "@aim/contract";
import type { Clock } from "../../plane/base/clock.ts";
import { formatTimestamp } from "../../plane/base/clock.ts";
import type { Attempt } from "../../plane/execution/attempt.ts";
import { Dispatcher } from "../../plane/execution/dispatcher.ts";
import { observers } from "../../plane/execution/observer.ts";
import { createInspections } from "../../plane/execution/inspections.ts";
import { createSignals } from "../../plane/execution/signals.ts";
import { sha256 } from "../../plane/store/blobs.ts";
import type { Store } from "../../plane/store/store.ts";
import { aJob, anAttempt, saveRevision, NOW } from "../store/samples.ts";
import { createChance, type Chance } from "./chance.ts";
import { createRunnerModel } from "./runner-model.ts";
import { openSimulatedStore, StoreFault } from "./store.ts";
import { createTimeline, type Timeline } from "./timeline.ts";
import { END_MS, GRACE_MS, JOB_MS, RUNNERS, TTL_MS, type Told, type World } from "./world.ts";

const REAP_MS = 1_500;
/** By then every job was handed in. */
const ACCEPT_MS = 3_000;

export interface Settings {
  readonly seed: number;
  readonly path: string;
  readonly jobs: number;
}

export interface History {
  readonly violations: readonly string[];
  readonly happened: number;
  readonly states: readonly string[];
}

export async function runHistory({ seed, path, jobs }: Settings): Promise<History> {
  const chance = createChance(seed);
  const timeline = createTimeline(NOW);
  const violations: string[] = [];
  const told: Told = {
    jobs: new Set(),
    events: new Map(),
    completions: new Map(),
    terminals: new Map(),
  };
  let calm = false;
  const faults = {
    before: () => !calm && chance.happens(0.01),
    after: () => !calm && chance.happens(0.01),
  };
  let store = openSimulatedStore(path, faults);
  let plane = createPlane(store, timeline);
  let over = false;
  const world: World = {
    over: async () => {
      over ||= timeline.now() > NOW + ACCEPT_MS && (await store.liveAttempts()).length === 0;
      return over;
    },
    timeline,
    chance,
    told,
    plane: () => plane,
    broken: (what) => violations.push(what),
    call: (make) => overNetwork(chance, () => make(plane)),
  };
  const crash = async (): Promise<void> => {
    await store.close();
    store = openSimulatedStore(path, faults);
    plane = createPlane(store, timeline);
    await plane.recover().catch(ignoreFault);
  };
  const keepReaping = async (): Promise<void> => {
    await plane.reap().catch(ignoreFault);
    timeline.after(REAP_MS, keepReaping);
  };
  timeline.after(REAP_MS, keepReaping);
  if (chance.happens(0.7)) timeline.after(chance.upTo(END_MS), crash);
  if (chance.happens(0.3)) timeline.after(chance.upTo(END_MS), crash);
  for (let runner = 0; runner < RUNNERS; runner += 1) createRunnerModel(world, seed, runner);
  for (let job = 0; job < jobs; job += 1) {
    timeline.after(chance.upTo(ACCEPT_MS), () => acceptJob(world, () => store, `${seed}-${job}`));
  }
  const happened = await timeline.runUntil(NOW + END_MS + 3_000);
  calm = true;
  const states = await judge(world, store);
  await store.close();
  return { violations, happened, states };
}

function createPlane(store: Store, timeline: Timeline): Dispatcher {
  const clock: Clock = { now: timeline.now, timestamp: () => formatTimestamp(timeline.now()) };
  return new Dispatcher({
    observer: observers([], () => undefined),
    store,
    clock,
    signals: createSignals(),
    inspections: createInspections(
      () => "ins",
      () => undefined,
    ),
    digest: sha256,
    sizeOf: async () => 0,
    leaseTtlMs: TTL_MS,
    onEnd: () => undefined,
  });
}

function ignoreFault(error: unknown): void {
  if (!(error instanceof StoreFault)) throw error;
}

async function overNetwork<T>(
  chance: Chance,
  make: () => Promise<T>,
): Promise<{ answer: T } | null> {
  if (chance.happens(0.05)) return null;
  const again = chance.happens(0.05);
  try {
    const first = await make();
    // The network delivers the request a second time; the caller hears one of the answers.
    const answer = again ? await make() : first;
    return chance.happens(0.05) ? null : { answer };
  } catch (error) {
    if (error instanceof StoreFault) return null;
    throw error;
  }
}

async function acceptJob(world: World, store: () => Store, key: string): Promise<void> {
  const job = {
    ...aJob(key),
    created: world.timeline.now(),
  };
  const attempt = anAttempt(job, {
    created: world.timeline.now(),
    deadline: NOW + JOB_MS,
    graceMs: GRACE_MS,
  });
  try {
    await saveRevision(store(), key);
    const created = await store().createJob({ job, attempt, revision: key });
    if (!created.ok) return world.broken(`job ${key} was refused: ${created.code}`);
    world.told.jobs.add(created.attempt.id);
    if (world.chance.happens(0.2)) {
      world.timeline.after(world.chance.upTo(JOB_MS), async () => {
        await world.plane().cancel(created.attempt.id).catch(ignoreFault);
      });
    }
  } catch (error) {
    ignoreFault(error);
  }
}

/** Whatever anybody was told must be what the store says; and everything must have ended. */
async function judge(world: World, store: Store): Promise<string[]> {
  const states: string[] = [];
  for (const attemptId of world.told.jobs) {
    const found = await store.readAttempt({ attemptId });
    if (found === null) {
      world.broken(`an acknowledged job is gone: ${attemptId}`);
      continue;
    }
    states.push(found.attempt.state);
    await judgeAttempt(world, store, found.attempt);
  }
  return states;
}

async function judgeAttempt(world: World, store: Store, attempt: Attempt): Promise<void> {
  const { id, state } = attempt;
  if (!isTerminal(state)) return world.broken(`${id} never ended: ${state}`);
  const completed = world.told.completions.get(id);
  if (completed !== undefined && completed !== state) {
    world.broken(`${id} was acknowledged as ${completed} and is ${state}`);
  }
  if (attempt.result === null) world.broken(`${id} ended without a result`);
  const stored = new Map(
    (await store.readEvents({ attemptId: id, after: 0, limit: 1_000 })).map((row) => [
      row.sequence,
      row.event,
    ]),
  );
  for (const [sequence, event] of world.told.events.get(id) ?? []) {
    if (stored.get(sequence) !== event) world.broken(`${id} lost acknowledged event ${sequence}`);
  }
  const results = [...stored.values()].filter((event) => event.includes('"kind":"result"'));
  if (results.length !== 1) world.broken(`${id} has ${results.length} results`);
}
