// What the streams of a job send: each batch is read and written down once, for all who stand at the same cursor.
import { JOURNAL_BATCH_MAX, type JournalMessage } from "@aim/contract";
import { gapView, recordHead } from "../core/journal.ts";
import type { Signals } from "../execution/signals.ts";
import type { Store } from "../store/store.ts";
import type { JournalRead, StoredRecord } from "../store/uses/journal-read.ts";

/** Batches of one job that are kept for streams that come to the same cursor a moment later. */
const KEPT = 16;

export interface Batch {
  /** Messages as they are sent; empty when there is nothing new. */
  readonly bytes: Buffer;
  readonly cursor: number;
  /** There may be more already. */
  readonly more: boolean;
  readonly ended: boolean;
  /** Null for a job that is not there any more. */
  readonly newestRun: string | null;
  /** The journal has never come as far as the cursor that was asked for. */
  readonly ahead: boolean;
}

export interface JournalFeeds {
  /** What stands after the cursor, as it is at some moment after the call. */
  readonly after: (jobId: string, cursor: number) => Promise<Batch>;
  /** Keeps the batches of a job while it is followed; call the answer once when it no longer is. */
  readonly follow: (jobId: string) => () => void;
}

interface Feed {
  followers: number;
  readonly reads: Map<number, Reading>;
}

interface Reading {
  readonly batch: Promise<Batch>;
  /** How often anything had been woken when it began. */
  readonly wakes: number;
}

export function createJournalFeeds(
  store: Pick<Store, "readJournal">,
  { wakes }: Pick<Signals, "wakes">,
): JournalFeeds {
  const feeds = new Map<string, Feed>();

  function follow(jobId: string): () => void {
    const feed = feeds.get(jobId) ?? { followers: 0, reads: new Map<number, Reading>() };
    feeds.set(jobId, feed);
    feed.followers += 1;
    return () => {
      feed.followers -= 1;
      if (feed.followers === 0) feeds.delete(jobId);
    };
  }

  function read(jobId: string, cursor: number): Promise<Batch> {
    const reads = feeds.get(jobId)?.reads ?? new Map<number, Reading>();
    const batch = readBatch(store, jobId, cursor);
    const reading = { batch, wakes: wakes() };
    reads.set(cursor, reading);
    const forget = () => reads.get(cursor) === reading && reads.delete(cursor);
    batch.then(({ bytes }) => bytes.length > 0 || forget(), forget);
    for (const oldest of reads.keys()) {
      if (reads.size <= KEPT) break;
      reads.delete(oldest);
    }
    return batch;
  }

  async function after(jobId: string, cursor: number): Promise<Batch> {
    const joined = feeds.get(jobId)?.reads.get(cursor);
    if (joined === undefined) return read(jobId, cursor);
    // It began before this call; where something was woken in between, its news may not be in it.
    const whole = joined.wakes === wakes();
    const batch = await joined.batch;
    if (whole) return batch;
    if (batch.bytes.length > 0) return { ...batch, more: true };
    return feeds.get(jobId)?.reads.get(cursor)?.batch ?? read(jobId, cursor);
  }

  return { after, follow };
}

const NOTHING = Buffer.alloc(0);

async function readBatch(
  store: Pick<Store, "readJournal">,
  jobId: string,
  cursor: number,
): Promise<Batch> {
  const read = await store.readJournal({ jobId, after: cursor, limit: JOURNAL_BATCH_MAX });
  if (read === null) {
    return { bytes: NOTHING, cursor, more: false, ended: true, newestRun: null, ahead: false };
  }
  const { ended, high, more, newestRun } = read;
  const bytes = Buffer.from(messagesOf(read));
  return { bytes, cursor: read.cursor, more, ended, newestRun, ahead: cursor > high };
}

/** Records and the holes before them in their order: a hole ends the batch that stands before it. */
function messagesOf({ gaps, records }: JournalRead): string {
  const parts: string[] = [];
  let from = 0;
  for (const gap of gaps) {
    const at = records.findIndex(({ cursor }) => cursor >= gap.from);
    const to = at === -1 ? records.length : at;
    parts.push(
      batchText(records.slice(from, to)),
      message({ name: "gap", data: gapView(gap) }, gap.to),
    );
    from = Math.max(from, to);
  }
  return [...parts, batchText(records.slice(from))].join("");
}

/** The events are JSON already. */
function batchText(records: readonly StoredRecord[]): string {
  const last = records.at(-1);
  if (last === undefined) return "";
  const texts = records.map((record) => {
    const { cursor, received_at } = recordHead(record);
    return `{"cursor":${cursor},"received_at":"${received_at}","event":${record.event}}`;
  });
  return framed("batch", `{"records":[${texts.join(",")}]}`, last.cursor);
}

export function message({ data, name }: JournalMessage, cursor: number): string {
  return framed(name, JSON.stringify(data), cursor);
}

/** JSON holds no line feed, so that one line of data is enough. */
function framed(name: string, data: string, cursor: number): string {
  return `event: ${name}\nid: ${cursor}\ndata: ${data}\n\n`;
}
