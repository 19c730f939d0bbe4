// Streams a run's events from the store to one reader, as JSON lines, for as long as the reader may see the run.
import type { FastifyReply } from "fastify";
import { AimError, isTerminal, type Principal } from "@aim/contract";
import { can } from "../auth/can.ts";
import { resourceOf } from "../core/rights.ts";
import { eventsTopic } from "../execution/dispatcher.ts";
import type { Signals } from "../execution/signals.ts";
import type { Store } from "../store/store.ts";
import { pull } from "./pull.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { line, NDJSON } from "./reply.ts";

const PAGE = 200;
/** Whoever waits looks by itself after this long, whoever forgot to wake it. */
const LOOK_AGAIN_MS = 1_000;
/** Who reads is asked again after this long. */
const ASK_AGAIN_MS = 1_000;

export interface StreamParts {
  readonly store: Store;
  readonly signals: Signals;
  readonly metrics: Pick<Metrics, "streamOpened">;
}

export interface StreamRequest {
  readonly runId: string;
  readonly after: number;
  /** Who it is now; null once the session or token has ended. */
  readonly whoNow: () => Promise<Principal | null>;
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
  raw.flushHeaders();
  const { runId: attemptId } = request;
  const reader = askedAgain(request.whoNow);
  let { after } = request;
  await pull({
    raw,
    listen: () => signals.listen(eventsTopic(attemptId), LOOK_AGAIN_MS),
    look: async (send) => {
      // Read the state before the events: an end seen here has all its events stored already.
      const found = await store.readAttempt({ attemptId });
      const page = await store.readEvents({ attemptId, after, limit: PAGE });
      const who = await reader();
      // A run that is gone and one that is not theirs any more look the same.
      if (found === null || who === null || !can(who, "job.read", resourceOf(found.job))) {
        raw.end(line({ type: "error", error: new AimError("not_found").toProblem() }));
        return "end";
      }
      const text = page.map(({ event }) => `{"type":"event","event":${event}}\n`).join("");
      if (text !== "" && !(await send(text))) return "end";
      after = page.at(-1)?.sequence ?? after;
      if (page.length === PAGE) return "again";
      if (!isTerminal(found.attempt.state)) return "wait";
      raw.end(line({ type: "response", response: found.attempt.result }));
      return "end";
    },
  });
}

/** The same answer for a moment: a busy stream must not ask for each of its pages. */
function askedAgain(whoNow: StreamRequest["whoNow"]): StreamRequest["whoNow"] {
  let asked = Number.NEGATIVE_INFINITY;
  let who: Principal | null = null;
  return async () => {
    if (performance.now() - asked >= ASK_AGAIN_MS) {
      who = await whoNow();
      asked = performance.now();
    }
    return who;
  };
}
