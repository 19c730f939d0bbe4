import { expect, test } from "vitest";
import { EVENTS_PER_BATCH_MAX, type RunEvent } from "@aim/contract";
import { createCaptureQueue, QUEUE_MAX } from "./queue.ts";

function eventAt(sequence: number): RunEvent {
  return {
    event_version: "1.0",
    run_id: "run_0123456789abcdefghjkmnpqrs",
    sequence,
    timestamp: "2026-01-01T00:00:00.000000Z",
    kind: "stage",
    stage: "running",
  };
}

interface Plane {
  readonly stored: number[];
  readonly batches: number[];
  readonly lostTold: () => number;
  answers: boolean;
}

/** A plane that stores what it is sent, or rejects all of it. */
function open(answers = true) {
  let lost = 0;
  const plane: Plane = { stored: [], batches: [], lostTold: () => lost, answers };
  const queue = createCaptureQueue(async (events, told) => {
    if (!plane.answers) throw new Error("no answer");
    plane.stored.push(...events.map(({ sequence }) => sequence));
    plane.batches.push(events.length);
    lost = told;
  });
  let produced = 0;
  const produce = (count: number) => {
    for (let made = 0; made < count; made += 1) queue.push(eventAt((produced += 1)));
  };
  return { plane, queue, produce, produced: () => produced };
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

test("every event arrives once and in order, in batches that fit", async () => {
  const { plane, queue, produce } = open();
  produce(1_000);
  await queue.close();
  expect(plane.stored).toEqual(numbers(1, 1_000));
  expect(Math.max(...plane.batches)).toBeLessThanOrEqual(EVENTS_PER_BATCH_MAX);
  expect([queue.lost(), queue.lastSequence()]).toEqual([0, 1_000]);
});

test("a queue that is full to its last place loses nothing", async () => {
  const { plane, queue, produce } = open();
  produce(QUEUE_MAX);
  await queue.close();
  expect(plane.stored).toEqual(numbers(1, QUEUE_MAX));
  expect(queue.lost()).toBe(0);
});

test("one event more than fits is dropped, the newest, and counted", async () => {
  const { plane, queue, produce } = open();
  produce(QUEUE_MAX + 1);
  await queue.close();
  expect(plane.stored).toEqual(numbers(1, QUEUE_MAX));
  expect([queue.lost(), plane.lostTold(), queue.lastSequence()]).toEqual([1, 1, QUEUE_MAX + 1]);
});

test("pushing never waits, however long the plane is silent", () => {
  const { queue, produce } = open(false);
  const begun = performance.now();
  produce(200_000);
  expect(performance.now() - begun).toBeLessThan(2_000);
  expect(queue.lost()).toBe(200_000 - QUEUE_MAX);
});

test("a plane that is silent for a while loses only what did not fit", async () => {
  const { plane, queue, produce, produced } = open(false);
  produce(QUEUE_MAX + 500);
  // Long enough for a first batch to be refused.
  await new Promise((resolve) => setTimeout(resolve, 50));
  plane.answers = true;
  await queue.close();
  expect(plane.stored).toEqual(numbers(1, QUEUE_MAX));
  expect(plane.stored.length + queue.lost()).toBe(produced());
});

test("what a silent plane never took counts as lost after the last moments", async () => {
  const { plane, queue, produce } = open(false);
  produce(10);
  const begun = performance.now();
  await queue.close();
  expect(performance.now() - begun).toBeLessThan(4_000);
  expect([plane.stored.length, queue.lost(), queue.lastSequence()]).toEqual([0, 10, 10]);
});
