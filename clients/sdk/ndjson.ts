// JSON lines from bytes, wherever the chunks are cut. Browser-safe.
import type { WireLine } from "@aim/contract";
import { ClientError, isClientError } from "./client-error.ts";

/** Longest event line, in bytes without its line feed. */
export const EVENT_LINE_BYTES_MAX = 1024 * 1024;

/** Longest line of any kind: a result names up to 10,000 hosts with their counts, which passes 1 MiB. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024;

const LINE_FEED = 0x0a;

export interface ReadLine {
  /** The line as it came, without its line feed. */
  readonly text: string;
  readonly line: WireLine;
}

/**
 * Splits bytes into lines at LF and decodes each as UTF-8.
 * Throws ClientError `stream_cut` when the bytes end inside a line or their source fails,
 * `line_too_long` for a line of more than `maxBytes`, `bad_line` for bytes that are not UTF-8.
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number = LINE_BYTES_MAX,
): AsyncGenerator<string, void, undefined> {
  const pending = new PendingLine(maxBytes);
  for await (const chunk of orCut(chunks)) {
    let start = 0;
    let end = chunk.indexOf(LINE_FEED);
    while (end !== -1) {
      pending.add(chunk.subarray(start, end));
      yield pending.take();
      start = end + 1;
      end = chunk.indexOf(LINE_FEED, start);
    }
    pending.add(chunk.subarray(start));
  }
  if (pending.length > 0) throw new ClientError("stream_cut");
}

/**
 * Reads the lines of one answer up to and with its response or error line.
 * Throws ClientError: as `readLines`, `bad_line` for what is no line of the contract,
 * `stream_cut` when the answer ends without a response or error line.
 */
export async function* readWire(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<ReadLine, void, undefined> {
  for await (const text of readLines(chunks)) {
    const line = parseWireLine(text);
    yield { text, line };
    if (line.type !== "event") return;
  }
  throw new ClientError("stream_cut");
}

/** Checks the envelope only: a newer plane may add fields and kinds, which an older client must let pass. */
export function parseWireLine(text: string): WireLine {
  const value = parseObject(text);
  if (value["type"] === "response" && "response" in value) {
    return { type: "response", response: value["response"] };
  }
  const body = value[String(value["type"])];
  if (!isObject(body)) throw new ClientError("bad_line");
  if (value["type"] === "event" && isEventEnvelope(body)) {
    // 4 bytes is the longest UTF-8 code point, so a short text needs no counting.
    if (text.length > EVENT_LINE_BYTES_MAX / 4) requireEventSize(text);
    return {
      type: "event",
      event: body as unknown as Extract<WireLine, { type: "event" }>["event"],
    };
  }
  if (value["type"] === "error" && typeof body["code"] === "string") {
    return {
      type: "error",
      error: body as unknown as Extract<WireLine, { type: "error" }>["error"],
    };
  }
  throw new ClientError("bad_line");
}

function requireEventSize(text: string): void {
  if (new TextEncoder().encode(text).byteLength > EVENT_LINE_BYTES_MAX) {
    throw new ClientError("line_too_long");
  }
}

function isEventEnvelope(body: Record<string, unknown>): boolean {
  return (
    typeof body["run_id"] === "string" &&
    typeof body["kind"] === "string" &&
    Number.isSafeInteger(body["sequence"])
  );
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the line, so it is not kept as a cause.
    throw new ClientError("bad_line");
  }
  if (!isObject(value)) throw new ClientError("bad_line");
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function* orCut(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* chunks;
  } catch (error) {
    if (isClientError(error)) throw error;
    throw new ClientError("stream_cut", { cause: error });
  }
}

class PendingLine {
  length = 0;
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #pieces: Uint8Array[] = [];

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.length += bytes.length;
    if (this.length > this.#maxBytes) throw new ClientError("line_too_long");
    this.#pieces.push(bytes);
  }

  take(): string {
    const bytes = new Uint8Array(this.length);
    let offset = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, offset);
      offset += piece.length;
    }
    this.#pieces = [];
    this.length = 0;
    try {
      return this.#decoder.decode(bytes);
    } catch {
      throw new ClientError("bad_line");
    }
  }
}
