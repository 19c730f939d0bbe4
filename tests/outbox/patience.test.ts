import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { formatTimestamp } from "../../plane/base/clock.ts";
import { createSignals } from "../../plane/execution/signals.ts";
import type { Letter, Tried } from "../../plane/outbox/deliver.ts";
import { CLAIM_MS, createOutbox } from "../../plane/outbox/outbox.ts";
import { GIVE_UP_MS } from "../../plane/outbox/retry.ts";
import { openSqliteStore } from "../../plane/store/dialects/sqlite/store.ts";
import type { Store } from "../../plane/store/store.ts";
import { until } from "../harness/plane.ts";
import { aJob, anAttempt, NOW, saveRevision } from "../store/samples.ts";

const HOUR = 3_600_000;
const TOPIC = "outbox";
const DOWN: Tried = { status: null, error: "unreachable" };
const TAKEN: Tried = { status: 200, error: null };

const fail = (error: unknown): void => {
  throw error;
};

let store: Store;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "aim-patience-"));
  store = await openSqliteStore(join(folder, "aim.sqlite"), fail);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function accept(key: string): Promise<void> {
  await saveRevision(store, key);
  const job = aJob(key);
  const url = "https://receiver.example/";
  const spec = { ...job.spec, callbacks: [{ url, events: ["attempt.accepted" as const] }] };
  await store.createJob({ job: { ...job, spec }, attempt: anAttempt(job), revision: key });
}

/** An outbox whose time stands until it is moved. */
function started(answer: (letter: Letter) => Tried | Promise<Tried>) {
  let now = NOW;
  const letters: Letter[] = [];
  const dead: string[] = [];
  const signals = createSignals();
  const outbox = createOutbox({
    store,
    signals,
    topic: TOPIC,
    clock: { now: () => now, timestamp: () => formatTimestamp(now) },
    chance: () => 1 - 2 ** -53,
    claimedBy: "pln_1",
    deliver: async (letter) => {
      letters.push(letter);
      return answer(letter);
    },
    onFailed: ({ eventId }, _, isDead) => void (isDead && dead.push(eventId)),
  });
  outbox.start(fail);
  return {
    letters,
    dead,
    move: (to: number): void => {
      now = to;
      signals.wake(TOPIC);
    },
    now: () => now,
    [Symbol.asyncDispose]: outbox.stop,
  };
}

const states = async () =>
  (await store.listDeliveries({ state: null, limit: 10 })).map(({ state }) => state);

test("a receiver that never answers is asked for 72 hours, ever more seldom, then given up", async () => {
  await accept("a");
  await using world = started(() => DOWN);
  const pauses: number[] = [];
  for (let tries = 1; world.dead.length === 0; tries += 1) {
    await until(5_000, () => world.letters.length === tries);
    await until(5_000, async () => (await states())[0] === "dead" || (await settledBy(tries)));
    const at = await store.nextDeliveryAt();
    if (at === null) break;
    pauses.push(at - world.now());
    world.move(at);
  }
  expect(await states()).toEqual(["dead"]);
  expect(pauses.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(Math.max(...pauses)).toBe(HOUR);
  expect(world.now()).toBeLessThanOrEqual(NOW + GIVE_UP_MS);
  expect(world.now()).toBeGreaterThan(NOW + GIVE_UP_MS - 2 * HOUR);
  expect(new Set(world.letters.map(({ eventId, body }) => `${eventId} ${body}`)).size).toBe(1);
});

async function settledBy(tries: number): Promise<boolean> {
  const [delivery] = await store.listDeliveries({ state: "waiting", limit: 1 });
  return delivery?.tries === tries;
}

test("an address that is refused is not tried again, and its replay is", async () => {
  await accept("a");
  let answer: Tried = { status: null, error: "address_refused" };
  await using world = started(() => answer);
  await until(5_000, async () => (await states())[0] === "dead");
  expect(world.letters).toHaveLength(1);
  const [dead] = await store.listDeliveries({ state: "dead", limit: 1 });
  expect(dead).toMatchObject({ lastError: "address_refused", tries: 1 });
  answer = TAKEN;
  const { eventId = "", callbackIndex = 0 } = dead ?? {};
  await store.replayDelivery({ eventId, callbackIndex, now: world.now() });
  world.move(world.now());
  await until(5_000, async () => (await states())[0] === "delivered");
  expect(world.letters.map(({ body }) => body)).toEqual([
    world.letters[0]?.body,
    world.letters[0]?.body,
  ]);
});

test("what a plane took before it died is sent by the next one when the claim is over", async () => {
  await accept("a");
  await store.claimDeliveries({ claimedBy: "pln_0", now: NOW, until: NOW + CLAIM_MS, limit: 1 });
  await using world = started(() => TAKEN);
  world.move(NOW + CLAIM_MS - 1);
  await until(5_000, async () => (await store.nextDeliveryAt()) === NOW + CLAIM_MS);
  expect(world.letters).toEqual([]);
  world.move(NOW + CLAIM_MS);
  await until(5_000, async () => (await states())[0] === "delivered");
  expect(world.letters).toHaveLength(1);
});

test("a receiver that hangs holds up no other, and a stop waits for what is under way", async () => {
  await accept("slow");
  const hanging = Promise.withResolvers<Tried>();
  const world = started(() => (world.letters.length === 1 ? hanging.promise : TAKEN));
  await until(5_000, () => world.letters.length === 1);
  await accept("quick");
  world.move(world.now());
  await until(5_000, async () => (await states()).includes("delivered"));
  const stopped = world[Symbol.asyncDispose]();
  hanging.resolve(TAKEN);
  await stopped;
  expect(await states()).toEqual(["delivered", "delivered"]);
});
