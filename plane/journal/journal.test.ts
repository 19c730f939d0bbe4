import fc from "fast-check";
import { expect, test } from "vitest";
import { EVENT_SEQUENCE_MAX, type RunEvent } from "@aim/contract";
import { advance, HOST_OBSERVATIONS_MAX, NOTHING_SEEN, TASK_CONTEXTS_MAX } from "./checkpoint.ts";
import { cursorOf, placeOf } from "./cursor.ts";
import { gapsOf } from "./gaps.ts";
import { hashOf } from "./names.ts";
import { cutOf, roomAfterCut } from "./retention.ts";

const envelope = {
  event_version: "1.0",
  run_id: `run_${"0".repeat(26)}`,
  timestamp: "2026-01-01T00:00:00.000000Z",
} as const;

function task(sequence: number, task_id: string): RunEvent {
  const label = { label: `Task ${task_id}`, label_redacted: false };
  return {
    ...envelope,
    sequence,
    kind: "task_started",
    play_id: "p1",
    task_id,
    ...label,
    handler: false,
  };
}

function result(sequence: number, host: string | null): RunEvent {
  const place = { play_id: "p1", task_id: "t1", host, host_redacted: host === null };
  const facts = { changed: true, ignored: false, details_redacted: false, error: null };
  return { ...envelope, sequence, kind: "host_result", ...place, status: "changed", ...facts };
}

test("a cursor is one number that grows from attempt to attempt and gives its place back", () => {
  const place = fc.record({
    number: fc.integer({ min: 1, max: 1_000_000 }),
    sequence: fc.nat(EVENT_SEQUENCE_MAX),
  });
  fc.assert(
    fc.property(place, place, (one, other) => {
      expect(placeOf(cursorOf(one))).toEqual(one);
      const earlier = one.number - other.number || one.sequence - other.sequence;
      expect(Math.sign(cursorOf(one) - cursorOf(other))).toBe(Math.sign(earlier));
    }),
  );
});

test("a cut leaves the newest, no more of the oldest goes than it says, and both limits hold", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 400 });
  const limits = fc.record({
    maxEvents: fc.integer({ min: 100, max: 300 }),
    maxBytes: fc.integer({ min: 5_000, max: 90_000 }),
  });
  fc.assert(
    fc.property(sizes, limits, (bytes, limit) => {
      const rows = bytes.map((size, at) => ({ sequence: at * 2 + 1, bytes: size }));
      const held = { events: rows.length, bytes: bytes.reduce((sum, size) => sum + size, 0) };
      const room = roomAfterCut(held, limit);
      const fits = held.events <= limit.maxEvents && held.bytes <= limit.maxBytes;
      expect(room === null).toBe(fits);
      if (room === null) return;
      const cut = cutOf(held, room, rows);
      const left = rows.filter(({ sequence }) => sequence > (cut?.to ?? 0));
      const sum = left.reduce((total, row) => total + row.bytes, 0);
      expect([left.length, sum]).toEqual([
        held.events - (cut?.events ?? 0),
        held.bytes - (cut?.bytes ?? 0),
      ]);
      expect(left.length <= room.events && sum <= room.bytes).toBe(true);
      // One event more would have been too many: nothing goes that could stay.
      const spared = rows.at(rows.length - left.length - 1);
      expect(left.length + 1 > room.events || sum + (spared?.bytes ?? 0) > room.bytes).toBe(true);
    }),
  );
});

test("more of the oldest is asked for when those at hand are not enough", () => {
  const held = { events: 10, bytes: 10 };
  expect(cutOf(held, { events: 5, bytes: 10 }, [{ sequence: 1, bytes: 1 }])).toBeNull();
});

test("every loss has its place in a hole, and a hole without a loss is none", () => {
  const heard = { last: 4, unplaced: 5, reason: "queue_full" } as const;
  expect(gapsOf({ ...heard, sequences: [5, 8, 9, 14] })).toEqual([
    { from: 6, to: 7, n: 2, reason: "queue_full" },
    { from: 10, to: 13, n: 3, reason: "queue_full" },
  ]);
  expect(gapsOf({ ...heard, unplaced: 0, sequences: [9] })).toEqual([]);
});

test("placed losses never exceed the losses or the holes", () => {
  const rising = fc
    .uniqueArray(fc.integer({ min: 1, max: 500 }), { maxLength: 60 })
    .map((all) => all.toSorted((a, b) => a - b));
  fc.assert(
    fc.property(rising, fc.nat(600), (sequences, unplaced) => {
      const gaps = gapsOf({ last: 0, sequences, unplaced, reason: "queue_full" });
      const holes = (sequences.at(-1) ?? 0) - sequences.length;
      expect(gaps.reduce((sum, { n }) => sum + n, 0)).toBe(Math.min(unplaced, holes));
    }),
  );
});

test("a checkpoint is bounded, keeps the newest and counts every start of a task", () => {
  const starts = Array.from({ length: 100 }, (_, at) => task(at + 1, `t${at}`));
  const results = Array.from({ length: 700 }, (_, at) => result(at + 101, `host-${at}`));
  const once = advance(NOTHING_SEEN, [
    ...starts,
    ...results,
    result(900, "host-650"),
    result(901, null),
  ]);
  expect(once.task_starts).toBe(100);
  expect(once.tasks).toHaveLength(TASK_CONTEXTS_MAX);
  expect(once.hosts).toHaveLength(HOST_OBSERVATIONS_MAX);
  expect([once.task?.task_id, once.tasks.at(-1)?.task_id]).toEqual(["t99", "t99"]);
  expect(once.hosts.at(-1)).toEqual(["host-650", "p1", "t1", "changed", 1, null, 900]);
  // However the events are cut into batches, the same is known afterwards.
  const all = [...starts, ...results, result(900, "host-650"), result(901, null)];
  let pieces = NOTHING_SEEN;
  for (let from = 0; from < all.length; from += 97)
    pieces = advance(pieces, all.slice(from, from + 97));
  expect(pieces).toEqual(once);
});

test("a hash is a whole number of at most 52 bits and the same for ever", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const hash = hashOf(text);
      expect(Number.isSafeInteger(hash) && hash >= 0 && hash < 2 ** 52).toBe(true);
    }),
  );
  expect(hashOf('"web-1"')).toBe(hashOf('"web-1"'));
});
