// Load that goes on while a plane is killed at one named point after another, and the judgement at its end.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import type { PlanePoint } from "../../plane/base/point.ts";
import { until } from "../harness/plane.ts";
import { openReceiver, type Received } from "../outbox/receiver.ts";
import { createChance, type Chance } from "../simulation/chance.ts";
import { judge, judgeCallbacks, untold, type Rows } from "./judge.ts";
import { openDoor, type Place } from "./place.ts";
import type { KillAt } from "./processes.ts";
import { readEvents } from "./read-events.ts";
import { runClient } from "./scripted-client.ts";
import { runScripted } from "./scripted-runner.ts";
import { nothingTold, type Told } from "./told.ts";

export const SEED = Number(process.env["AIM_TEST_SEED"] ?? Date.now() % 1_000_000);
export const LONG = process.env["AIM_TEST_LONG"] === "1";

/** Every named point of the plane, and at which time at most a process dies there. */
const TIMES_MOST: Readonly<Record<PlanePoint, number>> = {
  "store.before_commit": 60,
  "store.after_commit": 60,
  "http.before_answer": 40,
  "http.after_answer": 40,
  "blobs.before_rename": 4,
  "blobs.after_rename": 4,
  "outbox.sent": 8,
  "seal.before_save": 3,
  "recovery.middle": 1,
};
const POINTS = Object.keys(TIMES_MOST) as PlanePoint[];

/** Longest wait for a point that the load must come to. */
const DIES_MS = 30_000;
/** A callback arrives at the latest this long after the last recovery. */
export const TOLD_MS = 60_000;

export interface LoadParts {
  readonly places: readonly [Place, ...Place[]];
  readonly runners: number;
  readonly clients: number;
  readonly chance: Chance;
  /** Of each client; for ever when left out. */
  readonly jobs?: number;
}

export interface Load {
  readonly told: Told;
  readonly received: readonly Received[];
  /** No more jobs; waits until every callback was told of its end, and for the runners. */
  readonly finish: () => Promise<void>;
  /** The same, once the clients have submitted all that they were to. */
  readonly finishSubmitted: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/** Clients and runners; a defect of one is kept as a broken promise and ends it. */
export async function startLoad(parts: LoadParts): Promise<Load> {
  const { places, chance } = parts;
  const told = nothingTold();
  const receiver = await openReceiver();
  const noMore = new AbortController();
  const over = new AbortController();
  const keep = (error: unknown): void => void told.broken.push(String(error));
  const doorOf = (index: number) => openDoor(places, index);
  const submitted = Promise.all(
    Array.from({ length: parts.clients }, (_, index) => {
      const mine = { door: doorOf(index), told, chance, over: noMore.signal };
      const jobs = parts.jobs === undefined ? {} : { jobs: parts.jobs };
      return runClient({ ...mine, ...jobs, name: `client-${index}`, callback: receiver.url }).catch(
        keep,
      );
    }),
  );
  const runners = Promise.all(
    Array.from({ length: parts.runners }, (_, index) =>
      runScripted({ door: doorOf(index), told, chance, over: over.signal }).catch(keep),
    ),
  );
  const ended = (): ReadonlySet<string> =>
    new Set(
      receiver.received.flatMap(({ event }) =>
        event.type === "aim.attempt.ended.v1" ? [event.subject] : [],
      ),
    );
  async function finish(): Promise<void> {
    await submitted;
    await until(TOLD_MS, () => {
      const heard = ended();
      return [...told.jobs.values()].every(({ runId }) => heard.has(runId));
    });
    over.abort();
    await runners;
  }

  return {
    told,
    received: receiver.received,
    finish: async () => {
      noMore.abort();
      await finish();
    },
    finishSubmitted: finish,
    [Symbol.asyncDispose]: async () => {
      noMore.abort();
      over.abort();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

export interface Campaign {
  readonly place: Place;
  readonly rows: Rows;
  readonly kills: number;
  readonly seed: number;
}

export async function runCampaign({ place, rows, kills, seed }: Campaign): Promise<Told> {
  const chance = createChance(seed);
  // One that ends in order leaves its compiled code to those that are killed: they start quicker.
  place.start();
  await place.up();
  expect(await place.stop()).toBe(0);
  await using load = await startLoad({ places: [place], runners: 4, clients: 2, chance });
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      const point = POINTS[kill % POINTS.length] ?? "store.after_commit";
      const killAt = { point, times: 1 + Math.floor(chance.upTo(TIMES_MOST[point])) };
      expect(await deathOf(place, killAt), `kill ${kill} at ${point}`).toBe("SIGKILL");
      expect(load.told.broken).toEqual([]);
    }
    place.start();
    await load.finish();
    await expectAllKept(place, rows, load);
    return load.told;
  } finally {
    await place.stop("SIGKILL");
  }
}

async function deathOf(place: Place, killAt: KillAt<PlanePoint>): Promise<unknown> {
  const launched = place.start({ killAt });
  const late = new AbortController();
  const tooLate = delay(DIES_MS, "still alive", { signal: late.signal }).catch(() => "gone");
  const death = await Promise.race([launched.ended, tooLate]);
  late.abort();
  return death;
}

const ATTEMPTS = "SELECT * FROM attempts ORDER BY id";
const UNSEALED = `SELECT attempt_id FROM manifests
  WHERE attempt_id NOT IN (SELECT attempt_id FROM seals)`;

/** Reads everything twice, with a restart between: what has ended stays as it is. */
export async function expectAllKept(place: Place, rows: Rows, load: Load): Promise<void> {
  await until(TOLD_MS, () => untold(rows, load.received).length === 0);
  const events = await readEvents(place, rows);
  expect(await place.stop()).toBe(0);
  expect(judge(load.told, { rows, events })).toEqual([]);
  expect(judgeCallbacks(load.received)).toEqual([]);
  expect(lostBytes(place, load.told)).toEqual([]);
  const before = rows(ATTEMPTS);
  place.start();
  await place.up();
  await until(TOLD_MS, () => rows(UNSEALED).length === 0);
  expect(await place.stop()).toBe(0);
  expect(rows(ATTEMPTS)).toEqual(before);
}

/** Digests of bytes that were taken and are not kept. */
function lostBytes({ stateDir }: Place, { kept }: Told): string[] {
  return [...kept].flatMap(([digest, text]) => {
    const stored = readFileSync(join(stateDir, "blobs", digest.slice(0, 2), digest), "utf8");
    return stored === text ? [] : [digest];
  });
}
