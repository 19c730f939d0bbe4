// Reads the callback's private frames. Strict: the first thing that is not exactly right ends the reading for good.
import { Type, type Static, type TProperties } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { CAUSE_CODES, HINT_CODES } from "@aim/contract";

export const FRAMES_MAX = 200_000;
export const FRAME_BYTES_MAX = 64 * 1024;

const id = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });
const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const host = { host: Type.String() };
const closed = { additionalProperties: false } as const;

const NameSchema = Type.Union([
  Type.Object({ is: Type.Literal("text"), text: Type.String() }, closed),
  Type.Object({ is: Type.Enum(["missing", "dynamic", "long", "other", "hidden"]) }, closed),
]);
export type FrameName = Static<typeof NameSchema>;

function frame<K extends string, P extends TProperties>(kind: K, fields: P) {
  return Type.Object({ n: id, k: Type.Literal(kind), ...fields }, closed);
}

const FRAME_SCHEMAS = {
  hello: frame("hello", {
    schema: Type.Literal(1),
    nonce: Type.String(),
    ansible: Type.String(),
    callback: Type.String(),
  }),
  play: frame("play", { play: id, name: NameSchema, hidden: Type.Boolean() }),
  no_hosts: frame("no_hosts", {
    play: id,
    reason: Type.Enum(["no_hosts_matched", "no_hosts_remaining"]),
  }),
  task: frame("task", {
    task: id,
    play: id,
    name: NameSchema,
    hidden: Type.Boolean(),
    handler: Type.Boolean(),
    at: Type.Union([Type.Tuple([Type.String(), count]), Type.Null()]),
  }),
  result: frame("result", {
    play: id,
    task: id,
    ...host,
    status: Type.Enum(["ok", "changed", "skipped", "failed", "unreachable"]),
    changed: Type.Boolean(),
    ignored: Type.Boolean(),
    hidden: Type.Boolean(),
    counted: Type.Enum(["yes", "include", "meta"]),
    hint: Type.Union([Type.Enum([...HINT_CODES]), Type.Null()]),
    cause: Type.Union([Type.Enum([...CAUSE_CODES]), Type.Null()]),
  }),
  include: frame("include", { hosts: Type.Array(Type.String()) }),
  retry: frame("retry", {
    play: id,
    task: id,
    ...host,
    attempt: Type.Union([count, Type.Null()]),
    hidden: Type.Boolean(),
  }),
  poll: frame("poll", { play: id, task: id, ...host, hidden: Type.Boolean() }),
  recap: frame("recap", {
    ...host,
    ok: count,
    changed: count,
    failures: count,
    unreachable: count,
    skipped: count,
    rescued: count,
    ignored: count,
  }),
  data: frame("data", { part: id, parts: id, text: Type.String() }),
  stats: frame("stats", { hosts: count }),
  end: frame("end", { frames: id }),
} as const;

export type FrameKind = keyof typeof FRAME_SCHEMAS;
export type FrameOf<K extends FrameKind> = Static<(typeof FRAME_SCHEMAS)[K]>;
export type Frame = { [K in FrameKind]: FrameOf<K> }[FrameKind];

const validators = new Map<string, Validator>(
  Object.entries(FRAME_SCHEMAS).map(([kind, schema]) => [kind, Compile(schema)]),
);

/** What is wrong with a stream; `null` while nothing is. */
export type StreamFault = "invalid_event_stream" | "event_limit";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const LF = 0x0a;

/**
 * One frame from the bytes of its line without the LF, or null when anything about it is wrong:
 * encoding, JSON, kind, fields, types, a duplicate key, white space, an unusual escape.
 */
export function parseFrame(line: Uint8Array): Frame | null {
  try {
    const text = decoder.decode(line);
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || !("k" in value)) return null;
    if (typeof value.k !== "string" || validators.get(value.k)?.Check(value) !== true) return null;
    // Canonical form rules out duplicate keys and every second spelling of the same frame.
    return JSON.stringify(value) === text ? (value as Frame) : null;
  } catch {
    return null;
  }
}

export interface FrameReader {
  /** Takes the next bytes. After a fault everything is dropped unread. */
  push: (bytes: Uint8Array) => void;
  /** True when a line was begun and not ended. */
  readonly unfinished: boolean;
  readonly fault: StreamFault | null;
  readonly frames: number;
}

/**
 * Splits bytes into frames and hands each on in order. Holds at most one line, at most 64 KiB.
 * `accept` answers false when the frame does not fit what came before it.
 */
export function createFrameReader(accept: (frame: Frame) => StreamFault | null): FrameReader {
  const held = Buffer.alloc(FRAME_BYTES_MAX);
  let length = 0;
  let frames = 0;
  let fault: StreamFault | null = null;

  function take(line: Uint8Array): void {
    if (frames === FRAMES_MAX) {
      fault = "event_limit";
      return;
    }
    const parsed = parseFrame(line);
    if (parsed === null || parsed.n !== frames + 1) {
      fault = "invalid_event_stream";
      return;
    }
    frames += 1;
    fault = accept(parsed);
  }

  function hold(piece: Uint8Array): boolean {
    // The LF counts, so a line may hold one byte less than a frame.
    if (length + piece.length >= FRAME_BYTES_MAX) return false;
    held.set(piece, length);
    length += piece.length;
    return true;
  }

  function push(bytes: Uint8Array): void {
    let start = 0;
    while (fault === null && start < bytes.length) {
      const end = bytes.indexOf(LF, start);
      if (!hold(bytes.subarray(start, end === -1 ? bytes.length : end))) {
        fault = "invalid_event_stream";
        return;
      }
      if (end === -1) return;
      take(held.subarray(0, length));
      length = 0;
      start = end + 1;
    }
  }

  return {
    push,
    get unfinished() {
      return length > 0;
    },
    get fault() {
      return fault;
    },
    get frames() {
      return frames;
    },
  };
}
