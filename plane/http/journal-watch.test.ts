import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createSignals } from "../execution/signals.ts";
import type { JournalRead } from "../store/uses/journal-read.ts";
import { createJournalWatch } from "./journal-watch.ts";

const LONG_MS = 60_000;
/** More than one look, and much less than what the readers wait for. */
const SOON_MS = 1_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function readOf(facts: Partial<JournalRead>): JournalRead {
  const nothing = { records: [], gaps: [], cursor: 0, more: false, ended: false };
  return { ...nothing, newestRun: "run_1", high: 0, ...facts };
}

function setUp() {
  const world = { epoch: 1, looks: 0, broken: false, jobs: new Map<string, JournalRead>() };
  const watch = createJournalWatch({
    signals: createSignals(),
    store: {
      readJournal: async ({ jobId }) => {
        world.looks += 1;
        if (world.broken) throw new Error("no store");
        return world.jobs.get(jobId) ?? null;
      },
    },
    readEpoch: async () => world.epoch,
  });
  /** A reader that waits, once the first look has woken everybody. */
  const waiting = async (jobId: string) => {
    const reader = watch.open(jobId);
    const first = reader.listen("topic", LONG_MS);
    await vi.advanceTimersByTimeAsync(SOON_MS);
    first.stop();
    let woken = 0;
    const listening = reader.listen("topic", LONG_MS);
    void listening.woken.then(() => (woken += 1));
    return { woken: () => woken, close: reader.close, stop: listening.stop };
  };
  return { world, waiting };
}

test("readers of a job are woken when more is stored and no wake came", async () => {
  const { world, waiting } = setUp();
  world.jobs.set("one", readOf({ high: 5 }));
  world.jobs.set("two", readOf({ high: 5 }));
  const [one, two] = [await waiting("one"), await waiting("two")];
  await vi.advanceTimersByTimeAsync(LONG_MS / 2);
  expect([one.woken(), two.woken()]).toEqual([0, 0]);
  world.jobs.set("one", readOf({ high: 6 }));
  await vi.advanceTimersByTimeAsync(SOON_MS);
  expect([one.woken(), two.woken()]).toEqual([1, 0]);
});

test.each([
  ["its end", readOf({ high: 5, ended: true })],
  ["another attempt", readOf({ high: 5, newestRun: "run_2" })],
  ["its deletion", null],
])("they are woken by %s", async (_, later) => {
  const { world, waiting } = setUp();
  world.jobs.set("one", readOf({ high: 5 }));
  const one = await waiting("one");
  if (later === null) world.jobs.delete("one");
  else world.jobs.set("one", later);
  await vi.advanceTimersByTimeAsync(SOON_MS);
  expect(one.woken()).toBe(1);
});

test("a change of rights wakes the readers of every job, and so does a store that cannot be asked", async () => {
  const { world, waiting } = setUp();
  world.jobs.set("one", readOf({}));
  world.jobs.set("two", readOf({}));
  for (const change of [() => (world.epoch += 1), () => (world.broken = true)]) {
    const [one, two] = [await waiting("one"), await waiting("two")];
    change();
    await vi.advanceTimersByTimeAsync(SOON_MS);
    expect([one.woken(), two.woken()]).toEqual([1, 1]);
  }
});

test("nobody is looked for once the last reader has gone", async () => {
  const { world, waiting } = setUp();
  world.jobs.set("one", readOf({}));
  const one = await waiting("one");
  one.stop();
  one.close();
  await vi.advanceTimersByTimeAsync(SOON_MS);
  const before = world.looks;
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(world.looks).toBe(before);
  expect(vi.getTimerCount()).toBe(0);
  expect((await waiting("one")).woken()).toBe(0);
  expect(world.looks).toBeGreaterThan(before);
});
