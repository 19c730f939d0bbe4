// What one and the same run takes at rest: our journal's tables, and ARA's database.
import { join } from "node:path";
import { createCaptureQueue } from "../runner/capture/queue.ts";
import { createEmitter } from "../runner/attempt/emitter.ts";
import { createEventClock } from "../runner/attempt/clock.ts";
import { openJournalPlane } from "../tests/journal/journal-plane.ts";
import { measure } from "./measure.ts";
import type { Place } from "./place.ts";
import { inCopyOf, packedBytes } from "./sqlite-size.ts";
import { ara, launcher, writeWork } from "./variants.ts";

const HOSTS = 50;
const TASKS = 20;
const RESULTS = HOSTS * TASKS;
const TARGET = 48;
const OURS = "journal";

interface RunBytes {
  readonly hosts: number;
  readonly tasks: number;
  readonly aim: {
    readonly events: number;
    readonly journal_bytes: number;
    /** The list of events that the evidence of a run holds besides. */
    readonly evidence_events_bytes: number;
  };
  readonly ara: { readonly bytes: number; readonly content_bytes: number };
}

function expectResults(whose: string, found: number): void {
  if (found !== RESULTS) throw new Error(`${whose} holds ${found} results, not ${RESULTS}`);
}

/** Frames, reader, projection, numbering, queue and store are the product's; the lease is held by this process. */
async function ours(place: Place, folder: string): Promise<RunBytes["aim"]> {
  await using plane = await openJournalPlane();
  const job = await plane.startJob();
  const { epoch, runId } = job;
  const before = packedBytes(plane.databasePath, OURS);
  const queue = createCaptureQueue((events, lost) =>
    plane.dispatcher.events(runId, { epoch, events: [...events], lost }),
  );
  const emitter = createEmitter(runId, queue, createEventClock());
  const command = launcher(place, folder, { emit: emitter.emit });
  await measure(place.python, command);
  command.check();
  await queue.close();
  await plane.end(job, queue.lastSequence(), queue.lost());
  const count = (where: string): number =>
    inCopyOf(plane.databasePath, (ask) => ask(`SELECT count(*) FROM journal_events ${where}`));
  const events = count("");
  // The plane's own event, of the run's end, is the last one.
  if (events !== queue.lastSequence() + 1) throw new Error("the journal does not hold all events");
  expectResults("the journal", emitter.eventsText().split('"kind":"host_result"').length - 1);
  return {
    events,
    journal_bytes: packedBytes(plane.databasePath, OURS) - before,
    evidence_events_bytes: Buffer.byteLength(emitter.eventsText()),
  };
}

/** In a database of its own: another benchmark's may hold runs. */
async function theirs(place: Place, folder: string): Promise<RunBytes["ara"]> {
  const base = join(place.home, "ara-of-one-run");
  const path = join(base, "ansible.sqlite");
  const usual = ara(place, folder);
  const run = { ...usual, env: { ...usual.env, ARA_BASE_DIR: base } };
  await measure(place.python, { ...run, argv: [join(place.peers, "ara-manage"), "migrate"] });
  const before = packedBytes(path);
  await measure(place.python, run);
  const ask = (sql: string): number => inCopyOf(path, (asked) => asked(sql));
  expectResults("ARA", ask("SELECT count(*) FROM results"));
  return {
    bytes: packedBytes(path) - before,
    content_bytes: ask("SELECT sum(length(content)) FROM results"),
  };
}

export async function runBytes(place: Place): Promise<RunBytes> {
  const folder = writeWork(place, { name: "one-run", hosts: HOSTS, tasks: TASKS });
  const aim = await ours(place, folder);
  return { hosts: HOSTS, tasks: TASKS, aim, ara: await theirs(place, folder) };
}

export function bytesTable({ hosts, tasks, aim, ara: peer }: RunBytes): string {
  const row = (what: string, bytes: number): string => {
    const cells = [bytes, bytes / (hosts * tasks)].map((value) => value.toFixed(0));
    return `| ${[what, ...cells, (bytes / aim.journal_bytes).toFixed(1)].join(" | ")} |`;
  };
  const each = aim.journal_bytes / aim.events;
  return [
    "| what is kept of the run | bytes | bytes a task result on a host | ÷ AIM's journal |",
    "|---|---|---|---|",
    row(`AIM: tables of the journal, ${aim.events} events`, aim.journal_bytes),
    row("AIM: `events.jsonl` of the evidence", aim.evidence_events_bytes),
    row("ARA 1.8.0: all tables, offline SQLite", peer.bytes),
    row("ARA: of these, the content of the results, compressed", peer.content_bytes),
    "",
    `One run of ${hosts} hosts × ${tasks} tasks.`,
    "",
    `- Target, bytes a retained event ≤ ${TARGET}: ${each <= TARGET ? "holds" : "does not hold"} (${each.toFixed(1)}).`,
  ].join("\n");
}
