// SPDX-License-Identifier: Apache-2.0
// Messages between the runner and aim_init.py: two big-endian 32-bit lengths
// (JSON, private bytes), the JSON, the private bytes.
import type { Duplex } from "node:stream";

const HEADER_BYTES = 8;
/** Init sends short fixed messages; anything longer is not init. */
const LARGEST_ANSWER = 64 << 10;

export interface ExitMessage {
  readonly type: "exit";
  readonly code: number | null;
  readonly signal: string | null;
  readonly reason: "exited" | "stopped" | "deadline" | "lease";
}

export type InitMessage =
  | { readonly type: "ready" }
  | { readonly type: "started" }
  | { readonly type: "failed"; readonly reason: string }
  | ExitMessage;

export function encodeMessage(head: object, blobs: readonly Uint8Array[] = []): Uint8Array[] {
  const body = Buffer.from(JSON.stringify(head));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(body.byteLength, 0);
  header.writeUInt32BE(
    blobs.reduce((sum, blob) => sum + blob.byteLength, 0),
    4,
  );
  return [header, body, ...blobs];
}

const REASONS = ["exited", "stopped", "deadline", "lease"] as const;

function parseExit(value: object): ExitMessage | null {
  if (!("code" in value) || !("signal" in value) || !("reason" in value)) return null;
  const reason = REASONS.find((known) => known === value.reason);
  if (reason === undefined) return null;
  const code = typeof value.code === "number" ? value.code : null;
  const signal = typeof value.signal === "string" ? value.signal : null;
  return { type: "exit", code, signal, reason };
}

function parse(text: string): InitMessage | null {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null || !("type" in value)) return null;
  switch (value.type) {
    case "ready":
    case "started":
      return { type: value.type };
    case "failed":
      return { type: "failed", reason: "reason" in value ? String(value.reason) : "unknown" };
    case "exit":
      return parseExit(value);
    default:
      return null;
  }
}

/** Hands every message to `take`; a stream that is not ours is destroyed. */
export function readMessages(socket: Duplex, take: (message: InitMessage) => void): void {
  let pending: Buffer = Buffer.alloc(0);
  const cut = (): InitMessage | null => {
    if (pending.byteLength < HEADER_BYTES) return null;
    const size = pending.readUInt32BE(0);
    if (size > LARGEST_ANSWER || pending.readUInt32BE(4) !== 0) throw new Error("control stream");
    if (pending.byteLength < HEADER_BYTES + size) return null;
    const message = parse(pending.toString("utf8", HEADER_BYTES, HEADER_BYTES + size));
    if (message === null) throw new Error("control message");
    pending = pending.subarray(HEADER_BYTES + size);
    return message;
  };
  socket.on("data", (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    try {
      for (let message = cut(); message !== null; message = cut()) take(message);
    } catch {
      socket.destroy();
    }
  });
}
