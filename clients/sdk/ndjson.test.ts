import * as fc from "fast-check";
import { expect, test } from "vitest";
import { EVENT_LINE_BYTES_MAX, readLines, readWire } from "./ndjson.ts";

async function* chunksOf(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted(
    (a, b) => a - b,
  );
  let start = 0;
  for (const place of [...places, bytes.length]) {
    yield bytes.subarray(start, place);
    start = place;
  }
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

const encode = (text: string) => new TextEncoder().encode(text);
const event = (sequence: number, label = "x") => ({
  type: "event",
  event: { run_id: "run_1", kind: "play_started", sequence, label },
});
const line = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\n", ""));

test("the same lines come out wherever the bytes are cut", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(fc.nat()), async (lines, cuts) => {
      const bytes = encode(lines.map((text) => `${text}\n`).join(""));
      expect(await collect(readLines(chunksOf(bytes, cuts)))).toEqual(lines);
    }),
  );
});

test("an answer cut anywhere before its end raises and never ends in silence", async () => {
  const whole = encode(
    [event(1), event(2, "é✓"), { type: "response", response: {} }]
      .map((item) => `${JSON.stringify(item)}\n`)
      .join(""),
  );
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.array(fc.nat()), async (length, cuts) => {
      const cut = collect(readWire(chunksOf(whole.subarray(0, length), cuts)));
      await expect(cut).rejects.toMatchObject({ code: "stream_cut" });
    }),
  );
  expect(await collect(readWire(chunksOf(whole, [])))).toHaveLength(3);
});

test("bytes that end inside a line raise after the whole lines before it", async () => {
  const seen: string[] = [];
  const reading = (async () => {
    for await (const text of readLines(chunksOf(encode("a\nb"), [1]))) seen.push(text);
  })();
  await expect(reading).rejects.toMatchObject({ code: "stream_cut" });
  expect(seen).toEqual(["a"]);
});

test("a source that fails is a cut stream", async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield encode(`${JSON.stringify(event(1))}\n`);
    throw new Error("connection reset");
  }
  await expect(collect(readWire(failing()))).rejects.toMatchObject({ code: "stream_cut" });
});

test("nothing is read after the response", async () => {
  const bytes = encode('{"type":"response","response":null}\ngarbage\n');
  expect(await collect(readWire(chunksOf(bytes, [])))).toHaveLength(1);
});

test.each([
  "",
  "null",
  "[]",
  "{",
  '{"type":"event"}',
  '{"type":"event","event":{"run_id":"r","kind":"k"}}',
  '{"type":"event","event":{"run_id":"r","kind":"k","sequence":1.5}}',
  '{"type":"response"}',
  '{"type":"error","error":{}}',
  '{"type":"toString","toString":{}}',
  '{"type":"news","news":{}}',
])("the line %j is refused", async (text) => {
  const read = collect(readWire(chunksOf(encode(`${text}\n`), [])));
  await expect(read).rejects.toMatchObject({ code: "bad_line" });
});

test("bytes that are not UTF-8 are refused", async () => {
  const read = collect(readLines(chunksOf(new Uint8Array([0xc3, 0x28, 0x0a]), [])));
  await expect(read).rejects.toMatchObject({ code: "bad_line" });
});

test("a line is bounded before its end is seen", async () => {
  await expect(collect(readLines(chunksOf(encode("12345"), [2]), 4))).rejects.toMatchObject({
    code: "line_too_long",
  });
  expect(await collect(readLines(chunksOf(encode("1234\n"), [2]), 4))).toEqual(["1234"]);
});

test("an event line has a narrower bound than a result", async () => {
  const long = "x".repeat(EVENT_LINE_BYTES_MAX);
  const tooLong = encode(`${JSON.stringify(event(1, long))}\n`);
  await expect(collect(readWire(chunksOf(tooLong, [])))).rejects.toMatchObject({
    code: "line_too_long",
  });
  const response = encode(`${JSON.stringify({ type: "response", response: long })}\n`);
  expect(await collect(readWire(chunksOf(response, [])))).toHaveLength(1);
});
