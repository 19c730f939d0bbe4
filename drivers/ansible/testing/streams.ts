// Builds private streams for tests: a whole, intact run of two hosts, and ways to read one to its end.
import type { EventBody, Outcome } from "@aim/contract";
import { account } from "../accounting.ts";
import { createFrameReader } from "../frames.ts";
import { createCredentialSearch, createHostRule } from "../names.ts";
import { createProjection } from "../projection.ts";

export const NONCE = "nonce-of-the-test";
export const ANSIBLE = "2.19.11";
export const CALLBACK = "c".repeat(64);
export const HOSTS = ["left", "right"] as const;

export type FrameFields = Record<string, unknown> & { readonly k: string };

const name = (text: string) => ({ is: "text", text });

const ZERO = { ok: 0, changed: 0, failures: 0, unreachable: 0, skipped: 0, rescued: 0, ignored: 0 };

export const hello: FrameFields = {
  k: "hello",
  schema: 1,
  nonce: NONCE,
  ansible: ANSIBLE,
  callback: CALLBACK,
};
export const play = (id: number, text = "A play"): FrameFields => ({
  k: "play",
  play: id,
  name: name(text),
  hidden: false,
});
export const task = (id: number, fields: Partial<FrameFields> = {}): FrameFields => ({
  k: "task",
  task: id,
  play: 1,
  name: name(`Task ${id}`),
  hidden: false,
  handler: false,
  at: ["/work/project/site.yml", id + 4],
  ...fields,
});
export const result = (
  id: number,
  host: string,
  fields: Partial<FrameFields> = {},
): FrameFields => ({
  k: "result",
  play: 1,
  task: id,
  host,
  status: "ok",
  changed: false,
  ignored: false,
  hidden: false,
  counted: "yes",
  hint: null,
  cause: null,
  ...fields,
});
export const recap = (host: string, counts: Partial<typeof ZERO>): FrameFields => ({
  k: "recap",
  host,
  ...ZERO,
  ...counts,
});

const changed = { status: "changed", changed: true };
const ignoredFailure = {
  status: "failed",
  ignored: true,
  hint: "task_failed",
  cause: "command_failed",
};

/** Two tasks on two hosts; the second fails on one of them and is ignored. */
export const INTACT: readonly FrameFields[] = [
  hello,
  play(1),
  task(1),
  result(1, "left", changed),
  result(1, "right", changed),
  task(2),
  result(2, "left", changed),
  result(2, "right", { ...ignoredFailure, changed: true }),
  recap("left", { ok: 2, changed: 2 }),
  recap("right", { ok: 2, changed: 2, ignored: 1 }),
  { k: "stats", hosts: 2 },
  { k: "end", frames: 12 },
];

/** Numbers frames from 1 and writes each as its canonical line. */
export function linesOf(frames: readonly FrameFields[]): string[] {
  return frames.map((frame, index) => JSON.stringify({ n: index + 1, ...frame }));
}

export function bytesOf(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(""));
}

export interface Read {
  readonly events: readonly EventBody[];
  readonly outcome: Outcome;
  readonly frames: number;
}

export interface ReadOptions {
  readonly exitCode?: number | null;
  readonly hosts?: readonly string[];
  readonly credentials?: readonly string[];
  readonly mode?: "summary" | "detail";
  readonly stop?: "cancelled" | "timed_out" | null;
  /** Sizes of the pieces in which the bytes arrive, used in turn. */
  readonly pieces?: readonly number[];
  readonly knows?: boolean;
}

/** Reads a stream to its end and accounts for it as a run does. */
export function readStream(bytes: Uint8Array, options: ReadOptions = {}): Read {
  const hosts = options.hosts ?? HOSTS;
  const holdsCredential = createCredentialSearch(options.credentials ?? []);
  const events: EventBody[] = [];
  const projection = createProjection({
    mode: options.mode ?? "detail",
    nonce: NONCE,
    ansible: ANSIBLE,
    callback: CALLBACK,
    publicHost: createHostRule(hosts, holdsCredential),
    holdsCredential,
    knowsChange: () => options.knows ?? true,
    emit: (event) => events.push(event),
  });
  const reader = createFrameReader((frame) => projection.accept(frame));
  const pieces = options.pieces ?? [bytes.length];
  let start = 0;
  for (let turn = 0; start < bytes.length; turn += 1) {
    const size = Math.max(1, pieces[turn % pieces.length] ?? 1);
    reader.push(bytes.subarray(start, start + size));
    start += size;
  }
  const outcome = account({
    hosts,
    books: projection.books,
    fault: reader.fault,
    unfinished: reader.unfinished,
    exitCode: options.exitCode ?? 0,
    stop: options.stop ?? null,
    operationResult: { ok: true, value: null },
  });
  return { events, outcome, frames: reader.frames };
}

export function readFrames(frames: readonly FrameFields[], options: ReadOptions = {}): Read {
  return readStream(bytesOf(linesOf(frames)), options);
}
