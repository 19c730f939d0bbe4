// Streams a run's events from the store to one reader, as JSON lines.
import type { FastifyReply } from "fastify";
import { isTerminal } from "@aim/contract";
import { eventsTopic } from "../execution/dispatcher.ts";
import type { Signals } from "../execution/signals.ts";
import type { Store } from "../store/store.ts";
import { pull } from "./pull.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { line, NDJSON } from "./reply.ts";

const PAGE = 200;

export interface StreamParts {
  readonly store: Store;
  readonly signals: Signals;
  readonly metrics: Pick<Metrics, "streamOpened">;
}

export interface StreamRequest {
  readonly runId: string;
  readonly after: number;
}

/** Writes retained events after `after`, live ones as they are stored, and the final result when the run has ended. */
export async function streamRun(
  parts: StreamParts,
  reply: FastifyReply,
  request: StreamRequest,
): Promise<void> {
  const { signals, store } = parts;
  const { raw } = reply.hijack();
  raw.once("close", parts.metrics.streamOpened("ndjson"));
  raw.writeHead(200, { "content-type": NDJSON, "cache-control": "no-store" });
  const { runId: attemptId } = request;
  let { after } = request;
  await pull({
    raw,
    signals,
    topic: () => eventsTopic(attemptId),
    look: async (send) => {
      // Read the state before the events: an end seen here has all its events stored already.
      const found = await store.readAttempt({ attemptId });
      const page = await store.readEvents({ attemptId, after, limit: PAGE });
      const text = page.map(({ event }) => `{"type":"event","event":${event}}\n`).join("");
      if (text !== "" && !(await send(text))) return "end";
      after = page.at(-1)?.sequence ?? after;
      if (page.length === PAGE) return "again";
      if (found === null || !isTerminal(found.attempt.state)) return "wait";
      raw.end(line({ type: "response", response: found.attempt.result }));
      return "end";
    },
  });
}
