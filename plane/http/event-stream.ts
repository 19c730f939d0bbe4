// Streams a run's events from the store to one reader. Pull: the store is the buffer, a slow reader only slows itself.
import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { isTerminal } from "@aim/contract";
import { eventsTopic } from "../execution/dispatcher.ts";
import type { Signals } from "../execution/signals.ts";
import type { Store } from "../store/store.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { line, NDJSON } from "./reply.ts";

const PAGE = 200;
const LOOK_AGAIN_MS = 1_000;
/** A reader that takes nothing for this long is cut off. */
const STALLED_MS = 30_000;

export interface StreamParts {
  readonly store: Store;
  readonly signals: Signals;
  readonly metrics: Pick<Metrics, "streamOpened">;
}

export interface StreamRequest {
  readonly runId: string;
  readonly after: number;
}

/** Writes events after `after`, live ones as they are stored, and the final result when the run has ended. */
export async function streamRun(
  parts: StreamParts,
  reply: FastifyReply,
  request: StreamRequest,
): Promise<void> {
  const { raw } = reply.hijack();
  raw.once("close", parts.metrics.streamOpened("ndjson"));
  const gone = new AbortController();
  raw.on("close", () => gone.abort());
  raw.writeHead(200, { "content-type": NDJSON, "cache-control": "no-store" });
  let { after } = request;
  while (!gone.signal.aborted) {
    // Read the state before the events: an end seen here has all its events stored already.
    const found = await parts.store.readAttempt({ attemptId: request.runId });
    const page = await parts.store.readEvents({ attemptId: request.runId, after, limit: PAGE });
    const text = page.map(({ event }) => `{"type":"event","event":${event}}\n`).join("");
    if (text !== "" && !(await write(raw, text, gone.signal))) return;
    after = page.at(-1)?.sequence ?? after;
    if (page.length === PAGE) continue;
    if (found !== null && isTerminal(found.attempt.state)) {
      raw.end(line({ type: "response", response: found.attempt.result }));
      return;
    }
    await parts.signals.wait(eventsTopic(request.runId), LOOK_AGAIN_MS, gone.signal);
  }
}

/** Answers false when the reader is gone or took nothing for too long. */
async function write(raw: ServerResponse, text: string, gone: AbortSignal): Promise<boolean> {
  if (raw.write(text)) return true;
  const drained = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), STALLED_MS);
    const settle = (value: boolean) => () => {
      clearTimeout(timer);
      resolve(value);
    };
    raw.once("drain", settle(true));
    gone.addEventListener("abort", settle(false), { once: true });
  });
  if (!drained) raw.destroy();
  return drained;
}
