// The retained journal of a job as typed functions: pages, a snapshot, and a stream that resumes where it was cut.
import {
  pathOf,
  type JournalMessage,
  type JournalPage,
  type JournalRecord,
  type JournalSnapshot,
} from "@aim/contract";
import { ClientError } from "./client-error.ts";
import { drain, queryOf, refusalOf } from "./json.ts";
import type { Json } from "./jobs.ts";
import { resumed, type Reconnection } from "./reconnection.ts";
import { readServerEvents, type ServerEvent } from "./server-events.ts";
import type { Call, Transport } from "./transport.ts";

export interface JournalQuery {
  /** Records behind this cursor; the newest ones without it. */
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
}

export interface FollowJournal {
  /** Begins behind this cursor; with what is retained, when absent. */
  readonly after?: number | undefined;
  /** Ends the reading, never the job. */
  readonly signal?: AbortSignal | undefined;
}

export interface JournalCalls {
  journal(jobId: string, query?: JournalQuery): Promise<JournalPage>;
  journalSnapshot(jobId: string): Promise<JournalSnapshot>;
  /**
   * Batches and gaps in order, each record once, live ones too; then `end`, or `reset` when it may not be read any more.
   * Resumes by itself after a cut.
   */
  followJournal(
    jobId: string,
    options?: FollowJournal,
  ): AsyncGenerator<JournalMessage, void, undefined>;
  /** Forgets an ended job with its journal. */
  deleteJob(jobId: string): Promise<void>;
}

export function journalCalls(
  json: Json,
  transport: Transport,
  reconnection: Reconnection,
): JournalCalls {
  return {
    journal: (jobId, query = {}) =>
      json({
        method: "GET",
        path: `${pathOf("journal", { job_id: jobId })}${queryOf({ ...query })}`,
      }),
    journalSnapshot: (jobId) =>
      json({ method: "GET", path: pathOf("journalSnapshot", { job_id: jobId }) }),
    followJournal: (jobId, options = {}) => follow({ transport, reconnection, jobId }, options),
    deleteJob: async (jobId) => {
      const answer = await transport({
        method: "DELETE",
        path: pathOf("jobDelete", { job_id: jobId }),
      });
      if (answer.status >= 300) throw await refusalOf(answer);
      await drain(answer);
    },
  };
}

interface Followed {
  readonly transport: Transport;
  readonly reconnection: Reconnection;
  readonly jobId: string;
}

async function* follow(
  { transport, reconnection, jobId }: Followed,
  { after = 0, signal }: FollowJournal,
): AsyncGenerator<JournalMessage, void, undefined> {
  let cursor = after;
  const connect = () => connection({ transport, jobId, after, cursor, signal });
  for await (const message of resumed(reconnection, signal, connect)) {
    cursor = cursorAfter(message, cursor);
    yield message;
  }
}

interface Connection extends FollowJournal {
  readonly transport: Transport;
  readonly jobId: string;
  readonly after: number;
  /** What was seen already. */
  readonly cursor: number;
}

/** What one connection tells that was not seen before, up to the end of the stream. */
async function* connection({
  transport,
  jobId,
  after,
  cursor,
  signal,
}: Connection): AsyncGenerator<JournalMessage, void, undefined> {
  const path = `${pathOf("journalStream", { job_id: jobId })}?after=${after}`;
  // The header beats the query: where the first connection began is of no interest then.
  const resumed = cursor > after ? { "last-event-id": String(cursor) } : {};
  const headers = { accept: "text/event-stream", ...resumed };
  let seen = cursor;
  for await (const message of messages(transport, { method: "GET", path, headers, signal })) {
    const fresh = freshPart(message, seen);
    if (fresh === null) continue;
    seen = cursorAfter(fresh, seen);
    yield fresh;
    if (fresh.name === "end" || fresh.name === "reset") return;
  }
  throw new ClientError("stream_cut");
}

async function* messages(
  transport: Transport,
  call: Call,
): AsyncGenerator<JournalMessage, void, undefined> {
  const answer = await transport(call);
  if (answer.status !== 200) throw await refusalOf(answer);
  for await (const event of readServerEvents(answer.chunks)) {
    const message = messageOf(event);
    if (message !== null) yield message;
  }
}

/** Null for a message that this client does not know: a newer plane may send others. */
function messageOf({ data, name }: ServerEvent): JournalMessage | null {
  if (name !== "batch" && name !== "gap" && name !== "reset" && name !== "end") return null;
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw new ClientError("bad_line");
  }
  if (typeof value !== "object" || value === null) throw new ClientError("bad_line");
  if (name === "batch" && !Array.isArray((value as { records?: unknown }).records)) {
    throw new ClientError("bad_line");
  }
  return { name, data: value } as JournalMessage;
}

/** What was not seen before; null for nothing. */
function freshPart(message: JournalMessage, seen: number): JournalMessage | null {
  if (message.name === "gap") return message.data.to > seen ? message : null;
  if (message.name !== "batch") return message;
  const records = message.data.records.filter(({ cursor }: JournalRecord) => cursor > seen);
  return records.length === 0 ? null : { name: "batch", data: { records } };
}

function cursorAfter(message: JournalMessage, before: number): number {
  if (message.name === "gap") return message.data.to;
  return message.name === "batch" ? (message.data.records.at(-1)?.cursor ?? before) : before;
}
