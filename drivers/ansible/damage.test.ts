import fc from "fast-check";
import { expect, test } from "vitest";
import {
  bytesOf,
  hello,
  INTACT,
  linesOf,
  play,
  readFrames,
  readStream,
  recap,
  result,
  task,
  type FrameFields,
} from "./testing/streams.ts";

const lines = linesOf(INTACT);
const whole = bytesOf(lines);
const without = (index: number): string[] => lines.toSpliced(index, 1);
const replaced = (index: number, change: (line: string) => string): string[] =>
  lines.toSpliced(index, 1, change(lines[index] ?? ""));
const inserted = (index: number, frame: FrameFields): FrameFields[] =>
  INTACT.toSpliced(index, 0, frame);
const swapped = (a: number, b: number): FrameFields[] => {
  const frames = [...INTACT];
  [frames[a], frames[b]] = [frames[b] ?? hello, frames[a] ?? hello];
  return frames;
};

test("the intact stream is a success with every host's counts", () => {
  const { outcome, events } = readStream(whole);
  expect(outcome.verdict).toBe("succeeded");
  expect(outcome.error).toBeNull();
  expect(outcome.targets.map(({ outcome: of }) => of)).toEqual(["changed", "changed"]);
  expect(events.filter(({ kind }) => kind === "host_recap")).toHaveLength(2);
});

test("an intact stream counts as a failure when Ansible's exit status says so", () => {
  const { outcome } = readStream(whole, { exitCode: 2 });
  expect(outcome.error?.code).toBe("tool_failed");
  expect(outcome.targets.map(({ outcome: of }) => of)).toEqual(["unknown", "unknown"]);
});

// Each stands for one way in which a stream was seen to break, carried over to our frames.
const DAMAGED: readonly (readonly [string, Uint8Array, string?])[] = [
  ["has no stats and no end", bytesOf(lines.slice(0, 8)), "event_bridge_incomplete"],
  ["is cut inside a line", whole.subarray(0, whole.length - 20), "event_bridge_incomplete"],
  ["is cut after the first task", bytesOf(lines.slice(0, 5)), "event_bridge_incomplete"],
  ["has its stats twice", frames(inserted(11, { k: "stats", hosts: 2 })), "invalid_event_stream"],
  [
    "has a second, different recap",
    frames(inserted(11, recap("left", { ok: 1 }))),
    "invalid_event_stream",
  ],
  ["has a result before its task", frames(swapped(2, 3)), "invalid_event_stream"],
  ["has a task before its play", frames(swapped(1, 2)), "invalid_event_stream"],
  [
    "repeats a result",
    frames(inserted(4, result(1, "left", { status: "changed", changed: true }))),
    "invalid_event_stream",
  ],
  [
    "has a result of an unknown task",
    frames(inserted(3, result(7, "left"))),
    "invalid_event_stream",
  ],
  [
    "has a recap that disagrees with the results",
    frames(INTACT.toSpliced(8, 1, recap("left", { ok: 3, changed: 2 }))),
    "invalid_event_stream",
  ],
  [
    "has a recap that lacks a host",
    frames(INTACT.toSpliced(9, 2, { k: "stats", hosts: 1 })),
    "invalid_event_stream",
  ],
  [
    "has a recap row for a host without results",
    frames(INTACT.toSpliced(10, 1, recap("third", { ok: 1 }), { k: "stats", hosts: 3 })),
    "invalid_event_stream",
  ],
  ["has a negative count", text(replaced(8, (line) => line.replace(`"ok":2`, `"ok":-2`)))],
  ["has a count as text", text(replaced(8, (line) => line.replace(`"ok":2`, `"ok":"2"`)))],
  ["has a count with a fraction", text(replaced(8, (line) => line.replace(`"ok":2`, `"ok":2.5`)))],
  ["has a result after the stats", frames(inserted(11, result(2, "left")))],
  ["misses one number", text(without(3))],
  ["starts with number 2", text(lines.slice(1))],
  ["has noise between frames", text(lines.toSpliced(4, 0, "PLAY RECAP ****"))],
  ["has a blank line", text(lines.toSpliced(4, 0, ""))],
  ["is only blank lines", Buffer.from("\n\n\n")],
  ["has bytes that are not UTF-8", patched(`"left"`, Buffer.from([0x22, 0xff, 0xfe, 0x22]))],
  ["has a NUL byte", patched(`"left"`, Buffer.from([0x22, 0x00, 0x22]))],
  ["has CR before LF", Buffer.from(lines.map((line) => `${line}\r\n`).join(""))],
  ["has an unknown kind", frames(inserted(3, { k: "surprise" }))],
  ["has an unknown field", frames(INTACT.toSpliced(1, 1, { ...play(1), more: true }))],
  ["has an array for an object", text(lines.toSpliced(4, 1, "[1,2]"))],
  ["joins two runs", Buffer.concat([whole, whole])],
  ["has a key twice", text(replaced(3, (line) => line.replace(`"play":1`, `"play":1,"play":1`)))],
  ["has an escaped spelling", text(replaced(1, (line) => line.replace("A play", "\\u0041 play")))],
  ["has white space in a frame", text(replaced(1, (line) => line.replace(`:1,`, `: 1,`)))],
  ["is deeply nested", text(lines.toSpliced(3, 1, `${"[".repeat(30_000)}${"]".repeat(30_000)}`))],
  ["names another run", frames([{ ...hello, nonce: "other" }, ...INTACT.slice(1)])],
  ["names another Ansible", frames([{ ...hello, ansible: "2.19.12" }, ...INTACT.slice(1)])],
  ["names another callback", frames([{ ...hello, callback: "d".repeat(64) }, ...INTACT.slice(1)])],
  ["says hello twice", frames(inserted(1, hello))],
  ["counts its frames wrongly", frames(INTACT.with(11, { k: "end", frames: 11 }))],
  ["goes on after its end", frames([...INTACT, task(3)])],
  [
    "gives a reason to a success",
    frames(INTACT.with(3, result(1, "left", { hint: "task_failed" }))),
  ],
  [
    "gives no reason to a failure",
    frames(INTACT.with(7, result(2, "right", { status: "failed" }))),
  ],
  ["loses a piece of its data", frames(inserted(10, { k: "data", part: 1, parts: 2, text: "{" }))],
];

function frames(list: readonly FrameFields[]): Buffer {
  return bytesOf(linesOf(list));
}

function text(list: readonly string[]): Buffer {
  return bytesOf(list);
}

function patched(find: string, bytes: Uint8Array): Buffer {
  const at = whole.indexOf(find);
  return Buffer.concat([whole.subarray(0, at), bytes, whole.subarray(at + find.length)]);
}

test.for(DAMAGED)("a stream that %s never succeeds", ([, bytes, code = "invalid_event_stream"]) => {
  const { outcome, events } = readStream(bytes);
  expect(outcome.verdict).toBe("failed");
  expect(outcome.error?.code).toBe(code);
  expect(outcome.failure_category).toBe("event_stream");
  const recaps = events.filter(({ kind }) => kind === "host_recap").length;
  expect(recaps === 0 || recaps === 2).toBe(true);
});

test("an empty stream says that Ansible never reported", () => {
  const { outcome } = readStream(Buffer.alloc(0), { exitCode: 4 });
  expect(outcome.error?.code).toBe("event_bridge_unavailable");
  expect(outcome.effect).toBe("none");
});

test("a stream that ends before any task had no effect; after one nobody knows", () => {
  expect(readFrames(INTACT.slice(0, 2), { exitCode: 4 }).outcome.effect).toBe("none");
  expect(readFrames(INTACT.slice(0, 3), { exitCode: 4 }).outcome.effect).toBe("unknown");
});

test("repeated starts of one task and interleaved results are no fault", () => {
  const free = [
    hello,
    play(1),
    task(1),
    task(2),
    result(2, "right"),
    task(1),
    result(1, "left"),
    recap("left", { ok: 1 }),
    recap("right", { ok: 1 }),
    { k: "stats", hosts: 2 },
    { k: "end", frames: 11 },
  ];
  const { outcome, events } = readFrames(free);
  expect(outcome.verdict).toBe("succeeded");
  expect(events.filter(({ kind }) => kind === "task_started")).toHaveLength(2);
});

test("no cut of an intact stream is a success", () => {
  for (let end = 0; end < whole.length; end += 1) {
    expect(readStream(whole.subarray(0, end)).outcome.verdict, `cut at ${end}`).toBe("failed");
  }
});

test("the pieces in which bytes arrive change nothing", () => {
  const expected = readStream(whole);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }), (pieces) => {
      expect(readStream(whole, { pieces })).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

const MUTATIONS = 100_000;

test(`${MUTATIONS} mutations never crash and never turn a damaged stream into a success`, () => {
  const seed = Number(process.env["AIM_TEST_SEED"] ?? 20_260_101);
  const random = mulberry(seed);
  let same = 0;
  for (let run = 0; run < MUTATIONS; run += 1) {
    const bytes = mutate(Buffer.from(whole), random);
    const { outcome } = readStream(bytes);
    if (bytes.equals(whole)) same += 1;
    else if (outcome.verdict === "succeeded") {
      // A mutation may lead to another whole stream, e.g. another label; then its counts must be whole too.
      expect(isAnotherWholeStream(bytes), `seed ${seed}, run ${run}: ${bytes.toString()}`).toBe(
        true,
      );
    }
  }
  expect(same).toBeLessThan(MUTATIONS / 10);
});

/** A success after a mutation is right only if nothing but a name, a place or a believable flag differs. */
function isAnotherWholeStream(bytes: Buffer): boolean {
  const found = bytes.toString().trimEnd().split("\n");
  if (found.length !== lines.length) return false;
  return found.every((line, index) => shapeOf(line) === shapeOf(lines[index] ?? ""));
}

function shapeOf(line: string): string {
  const frame = JSON.parse(line) as Record<string, unknown>;
  for (const field of ["name", "at", "handler", "hidden", "hint", "cause"]) delete frame[field];
  return JSON.stringify(frame);
}

function mutate(bytes: Buffer, random: () => number): Buffer {
  const at = Math.floor(random() * bytes.length);
  const other = Math.floor(random() * bytes.length);
  switch (Math.floor(random() * 6)) {
    case 0:
      bytes[at] = Math.floor(random() * 256);
      return bytes;
    case 1:
      bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      return bytes;
    case 2:
      return bytes.subarray(0, at);
    case 3:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    case 4:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(other)]);
    default:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from([bytes[other] ?? 0]),
        bytes.subarray(at),
      ]);
  }
}

/** A small seeded generator: the same seed gives the same mutations. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}
