import { expect, test } from "vitest";
import { createFrameReader, FRAME_BYTES_MAX, FRAMES_MAX } from "./frames.ts";
import { PLAYS_MAX, TASKS_MAX } from "./projection.ts";
import {
  bytesOf,
  hello,
  linesOf,
  play,
  readFrames,
  readStream,
  result,
  task,
  type FrameFields,
} from "./testing/streams.ts";

const many = (count: number, make: (id: number) => FrameFields): FrameFields[] =>
  Array.from({ length: count }, (_, index) => make(index + 1));

/** A complete, countable end for a stream that did nothing but start things. */
const closing = (frames: readonly FrameFields[]): FrameFields[] => [
  ...frames,
  { k: "stats", hosts: 0 },
  { k: "end", frames: frames.length + 2 },
];

test(`${PLAYS_MAX} plays are accepted and one more is too many`, () => {
  const edge = [hello, ...many(PLAYS_MAX, (id) => play(id))];
  expect(readFrames(closing(edge)).outcome.error?.code).toBe("nothing_ran");
  const over = readFrames(closing([...edge, play(PLAYS_MAX + 1)]));
  expect(over.outcome.error?.code).toBe("event_limit");
});

test(`${TASKS_MAX} tasks are accepted and one more is too many`, () => {
  const edge = [hello, play(1), ...many(TASKS_MAX, (id) => task(id))];
  expect(readFrames(closing(edge)).outcome.error?.code).toBe("nothing_ran");
  const over = readFrames(closing([...edge, task(TASKS_MAX + 1)]));
  expect(over.outcome.error?.code).toBe("event_limit");
});

test(`${FRAMES_MAX} frames are accepted and one more is too many`, () => {
  const polls = (count: number): FrameFields[] => [
    hello,
    play(1),
    task(1),
    ...many(count, () => ({ k: "poll", play: 1, task: 1, host: "left", hidden: false })),
  ];
  const edge = readFrames(closing(polls(FRAMES_MAX - 5)));
  expect(edge.frames).toBe(FRAMES_MAX);
  expect(edge.outcome.error?.code).toBe("nothing_ran");
  const over = readFrames(closing(polls(FRAMES_MAX - 4)));
  expect(over.outcome.error?.code).toBe("event_limit");
  expect(over.frames).toBe(FRAMES_MAX);
});

test("a frame of 64 KiB is accepted and one byte more is not", () => {
  const frameOf = (size: number) => {
    const padded = (pad: string) =>
      linesOf([hello, { ...play(1), name: { is: "text", text: pad } }]);
    const empty = padded("")[1]?.length ?? 0;
    return padded("x".repeat(size - 1 - empty));
  };
  expect(frameOf(FRAME_BYTES_MAX)[1]?.length).toBe(FRAME_BYTES_MAX - 1);
  const edge = readStream(bytesOf(frameOf(FRAME_BYTES_MAX)));
  expect(edge.outcome.error?.code).toBe("event_bridge_incomplete");
  const over = readStream(bytesOf(frameOf(FRAME_BYTES_MAX + 1)));
  expect(over.outcome.error?.code).toBe("invalid_event_stream");
});

test("a line without an end is not gathered: the reader holds at most one frame", () => {
  const reader = createFrameReader(() => null);
  const before = process.memoryUsage().arrayBuffers;
  const piece = Buffer.alloc(1024 * 1024, 0x61);
  for (let sent = 0; sent < 256; sent += 1) reader.push(piece);
  expect(reader.fault).toBe("invalid_event_stream");
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
});

test("after a fault nothing more is read, however much comes", () => {
  let seen = 0;
  const reader = createFrameReader(() => {
    seen += 1;
    return "invalid_event_stream";
  });
  for (let turn = 0; turn < 1000; turn += 1) reader.push(bytesOf(linesOf([hello])));
  expect(seen).toBe(1);
});

test("names of one host are not gathered a second time for each result", () => {
  const frames = [hello, play(1), task(1), ...many(1000, () => result(1, "left"))];
  const { events } = readFrames(frames);
  expect(events.filter(({ kind }) => kind === "host_result")).toHaveLength(1000);
});
