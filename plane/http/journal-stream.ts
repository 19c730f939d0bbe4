// Follows the journal of a job for one reader, as server-sent events. Whether the reader still may is asked immediately
// before each write: a cursor is no permission, and neither is an open connection.
import type { ServerResponse } from "node:http";
import { AimError, JOURNAL_STREAMS, type Principal } from "@aim/contract";
import { eventsTopic } from "../execution/dispatcher.ts";
import type { Listening } from "../execution/signals.ts";
import { message, type JournalFeeds } from "./journal-feed.ts";
import type { JournalWatch } from "./journal-watch.ts";
import { pull, type Send } from "./pull.ts";

const HEARTBEAT_MS = 15_000;
/** Before a write rights are read anew after this long, whatever the epoch says. */
const CHECK_AGAIN_MS = 1_000;
/** An epoch that was read so short a time ago serves all who ask. */
const EPOCH_FRESH_MS = 20;

/** Whether the principal may still read the job. */
export type StillMay = (principal: Principal, jobId: string) => Promise<boolean>;

export interface JournalStreamParts {
  readonly feeds: JournalFeeds;
  readonly watch: JournalWatch;
  /** A number that changes with every change of rights. */
  readonly readEpoch: () => Promise<number>;
  readonly stillMay: StillMay;
  readonly limits?: { readonly each: number; readonly all: number };
}

export interface JournalReader {
  /** Who it is now; null once the session or token has ended. */
  readonly whoNow: () => Promise<Principal | null>;
  readonly jobId: string;
  readonly after: number;
  /** Of the newest attempt. */
  readonly runId: string;
  readonly raw: ServerResponse;
}

export interface JournalStreams {
  /** Takes a place for a stream of the principal; throws too_many_streams. Call the answer once when it has ended. */
  readonly admit: (principal: Principal) => () => void;
  readonly serve: (reader: JournalReader) => Promise<void>;
}

export function createJournalStreams(parts: JournalStreamParts): JournalStreams {
  const limits = parts.limits ?? JOURNAL_STREAMS;
  const open = new Map<string, number>();
  let all = 0;
  const epoch = sharedFor(EPOCH_FRESH_MS, parts.readEpoch);

  function admit({ id }: Principal): () => void {
    const own = open.get(id) ?? 0;
    if (own >= limits.each || all >= limits.all) throw new AimError("too_many_streams");
    open.set(id, own + 1);
    all += 1;
    return () => {
      all -= 1;
      const left = (open.get(id) ?? 1) - 1;
      if (left === 0) open.delete(id);
      else open.set(id, left);
    };
  }

  return { admit, serve: (reader) => serve({ ...parts, epoch }, reader) };
}

/** One answer for all who ask within a moment of the question. */
function sharedFor(ms: number, ask: () => Promise<number>): () => Promise<number> {
  let asked = Number.NEGATIVE_INFINITY;
  let answer: Promise<number> = Promise.resolve(0);
  return () => {
    const now = performance.now();
    if (now - asked >= ms) {
      asked = now;
      answer = ask();
    }
    return answer;
  };
}

type Lent = JournalStreamParts & { readonly epoch: () => Promise<number> };

async function serve(parts: Lent, reader: JournalReader): Promise<void> {
  const { jobId, raw } = reader;
  raw.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  raw.flushHeaders();
  const may = rightsOf(parts, reader);
  const unfollow = parts.feeds.follow(jobId);
  const watched = parts.watch.open(jobId);
  let { after: cursor, runId } = reader;
  let written = performance.now();

  /** Until something happens or a sign of life is due. */
  function listen(): Listening {
    const left = written + HEARTBEAT_MS - performance.now();
    return watched.listen(eventsTopic(runId), Math.max(0, Math.ceil(left)));
  }

  async function look(send: Send): Promise<"again" | "wait" | "end"> {
    const batch = await parts.feeds.after(jobId, cursor);
    const quiet = performance.now() - written >= HEARTBEAT_MS;
    const writes = batch.bytes.length > 0 || batch.ended || quiet;
    if (batch.newestRun === null || !(await may(writes))) return close("access_ended");
    if (batch.ahead) return close("cursor_unknown");
    runId = batch.newestRun;
    if (batch.bytes.length > 0) {
      written = performance.now();
      if (!(await send(batch.bytes))) return "end";
      cursor = batch.cursor;
    }
    if (batch.more) return "again";
    if (batch.ended) {
      raw.end(message({ name: "end", data: { cursor } }, cursor));
      return "end";
    }
    if (quiet) {
      written = performance.now();
      if (!(await send(": still here\n\n"))) return "end";
    }
    return "wait";
  }

  function close(reason: "access_ended" | "cursor_unknown"): "end" {
    raw.end(message({ name: "reset", data: { reason } }, 0));
    return "end";
  }

  try {
    await pull({ raw, listen, look });
  } finally {
    watched.close();
    unfollow();
  }
}

/**
 * Looks everything up when the epoch has changed, and before a write when the last look is too long ago: a session may have
 * ended by its time alone.
 */
function rightsOf(
  parts: Lent,
  { jobId, whoNow }: JournalReader,
): (writes: boolean) => Promise<boolean> {
  let seen = Number.NaN;
  let checked = Number.NEGATIVE_INFINITY;
  return async (writes) => {
    const epoch = await parts.epoch();
    const now = performance.now();
    if (epoch === seen && (!writes || now - checked < CHECK_AGAIN_MS)) return true;
    const principal = await whoNow();
    if (principal === null || !(await parts.stillMay(principal, jobId))) return false;
    seen = epoch;
    checked = now;
    return true;
  };
}
