// What the journal costs: durable commits, bytes at rest, live readers, idle streams, and asking who still may.
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { RunEvent } from "@aim/contract";
import { mayStillRead } from "../plane/core/rights.ts";
import { LOCAL_PRINCIPAL } from "../plane/http/identity.ts";
import { AIMD, nodeOptions } from "../tests/harness/entry.ts";
import {
  eventAt,
  openJournalPlane,
  type JournalPlane,
  type RunningJob,
} from "../tests/journal/journal-plane.ts";
import { inCopyOf } from "./sqlite-size.ts";
import { percentile } from "./statistics.ts";

const CLIENTS = fileURLToPath(new URL("journal-clients.ts", import.meta.url));
const IDLE_PLANE = fileURLToPath(new URL("journal-idle.ts", import.meta.url));
const BATCH = 128;
const COMMITS = 800;
const VIEWERS = 200;
const RATE = 1_000;
const FAN_OUT_S = 15;
const IDLE = 5_000;
const ASKED = 2_000;
const STREAMS = { each: VIEWERS, all: VIEWERS };
const LIMITS = { maxEvents: 200_000, maxBytes: 67_108_864 };

export interface JournalCost {
  readonly durable: {
    readonly events_per_s: number;
    readonly p50_ms: number;
    readonly p99_ms: number;
  };
  readonly at_rest: {
    readonly bytes_per_event: number;
    readonly names_bytes_per_event: number;
    readonly json_bytes_per_event: number;
  };
  readonly fan_out: {
    readonly viewers: number;
    readonly events_per_s: number;
    readonly p50_ms: number;
    readonly p99_ms: number;
    readonly core: number;
  };
  readonly idle: { readonly streams: number; readonly mib: number };
  readonly rights: { readonly epoch_us: number; readonly whole_us: number };
}

/** As a runner makes them: timed now, on 200 hosts. */
function eventNow(runId: string, sequence: number): RunEvent {
  return { ...eventAt(runId, sequence), timestamp: new Date().toISOString().replace("Z", "000Z") };
}

interface Some {
  readonly from: number;
  readonly count: number;
}

function batch({ runId }: RunningJob, { count, from }: Some): RunEvent[] {
  return Array.from({ length: count }, (_, at) => eventNow(runId, from + at));
}

function send(plane: JournalPlane, { epoch, runId }: RunningJob, events: RunEvent[]) {
  return plane.dispatcher.events(runId, { epoch, events, lost: 0 });
}

/** One commit after another; what the runner does, which is to make the events, is not counted. */
async function durable(plane: JournalPlane, job: RunningJob): Promise<JournalCost["durable"]> {
  const took: number[] = [];
  // The first commits compile and are not counted.
  for (let commit = -50; commit < COMMITS; commit += 1) {
    const events = batch(job, { from: (commit + 50) * BATCH + 1, count: BATCH });
    const before = performance.now();
    await send(plane, job, events);
    if (commit >= 0) took.push(performance.now() - before);
  }
  const seconds = took.reduce((sum, ms) => sum + ms, 0) / 1000;
  return {
    events_per_s: (COMMITS * BATCH) / seconds,
    p50_ms: percentile(took, 0.5),
    p99_ms: percentile(took, 0.99),
  };
}

function atRest(path: string): JournalCost["at_rest"] {
  return inCopyOf(path, (ask) => {
    const events = ask("SELECT count(*) FROM journal_events");
    const size = (table: string) => ask(`SELECT sum(pgsize) FROM dbstat WHERE name = '${table}'`);
    return {
      bytes_per_event: size("journal_events") / events,
      names_bytes_per_event: (size("journal_names") + size("journal_names_by_hash")) / events,
      json_bytes_per_event: ask("SELECT avg(bytes) FROM journal_events"),
    };
  });
}

async function clients(url: string, jobId: string, what: readonly [number, string]) {
  const argv = [CLIENTS, url, jobId, String(what[0]), what[1]];
  const child = spawn(process.execPath, argv, { stdio: ["pipe", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  while (!text.startsWith("open\n")) await delay(20);
  return {
    child,
    end: async (): Promise<number[]> => {
      child.stdin.end();
      await ended(child);
      return JSON.parse(text.slice("open\n".length)) as number[];
    },
  };
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once("close", () => resolve()));
}

async function fanOut(plane: JournalPlane): Promise<JournalCost["fan_out"]> {
  const job = await plane.startJob();
  const viewers = await clients(plane.url, job.jobId, [VIEWERS, "read"]);
  const used = process.cpuUsage();
  const begun = performance.now();
  let sent = 0;
  while (performance.now() - begun < FAN_OUT_S * 1000) {
    const due = Math.floor(((performance.now() - begun) / 1000) * RATE) - sent;
    const count = Math.min(BATCH, due);
    if (count > 0) await send(plane, job, batch(job, { from: sent + 1, count }));
    sent += Math.max(0, count);
    // As the runner's queue: a moment between commits.
    await delay(25);
  }
  const seconds = (performance.now() - begun) / 1000;
  const { system, user } = process.cpuUsage(used);
  await delay(1_000);
  const late = await viewers.end();
  return {
    viewers: VIEWERS,
    events_per_s: sent / seconds,
    p50_ms: percentile(late, 0.5),
    p99_ms: percentile(late, 0.99),
    core: (system + user) / 1e6 / seconds,
  };
}

/** On a plane in a process of its own, started as aimd is: one that has served others has room already. */
async function idle(): Promise<JournalCost["idle"]> {
  const child = spawn(process.execPath, [...nodeOptions(AIMD), IDLE_PLANE], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<string> => String((await lines.next()).value);
  const [url = "", job = ""] = (await next()).split(" ");
  const streams = await clients(url, job, [IDLE, "idle"]);
  await delay(3_000);
  child.stdin.end();
  const mib = Number(await next()) / 2 ** 20;
  await ended(child);
  await streams.end();
  return { streams: IDLE, mib };
}

async function rights(plane: JournalPlane, job: RunningJob): Promise<JournalCost["rights"]> {
  const still = mayStillRead(plane.store);
  const each = async (ask: () => Promise<unknown>): Promise<number> => {
    const begun = performance.now();
    for (let count = 0; count < ASKED; count += 1) await ask();
    return ((performance.now() - begun) * 1000) / ASKED;
  };
  return {
    epoch_us: await each(() => plane.store.readRightsEpoch()),
    whole_us: await each(() => still(LOCAL_PRINCIPAL, job.jobId)),
  };
}

export async function journalCost(): Promise<JournalCost> {
  const waiting = await idle();
  await using plane = await openJournalPlane({ limits: LIMITS, streams: STREAMS });
  const job = await plane.startJob();
  const commits = await durable(plane, job);
  const rest = atRest(plane.databasePath);
  return {
    durable: commits,
    at_rest: rest,
    rights: await rights(plane, job),
    fan_out: await fanOut(plane),
    idle: waiting,
  };
}

export function journalTable({ at_rest: rest, durable: commits, ...cost }: JournalCost): string {
  const { fan_out: fan, idle: waiting, rights: asked } = cost;
  const verdict = (holds: boolean) => (holds ? "holds" : "does not hold");
  const rows: readonly (readonly [string, string, string])[] = [
    [
      "durable events a second, batches of 128 at FULL",
      commits.events_per_s.toFixed(0),
      `≥ 50,000: ${verdict(commits.events_per_s >= 50_000)}`,
    ],
    [
      "commit p50 / p99, ms",
      `${commits.p50_ms.toFixed(1)} / ${commits.p99_ms.toFixed(1)}`,
      `p99 ≤ 10: ${verdict(commits.p99_ms <= 10)}`,
    ],
    [
      "bytes a retained event, names included",
      (rest.bytes_per_event + rest.names_bytes_per_event).toFixed(1),
      `≤ 48: ${verdict(rest.bytes_per_event + rest.names_bytes_per_event <= 48)}`,
    ],
    ["bytes of its JSON", rest.json_bytes_per_event.toFixed(0), ""],
    [
      `event to ${fan.viewers} clients at ${fan.events_per_s.toFixed(0)} a second, p50 / p99, ms`,
      `${fan.p50_ms.toFixed(0)} / ${fan.p99_ms.toFixed(0)}`,
      `p99 ≤ 50: ${verdict(fan.p99_ms <= 50)}`,
    ],
    ["cores of the plane meanwhile", fan.core.toFixed(2), `≤ 0.35: ${verdict(fan.core <= 0.35)}`],
    [
      `${waiting.streams} idle streams, MiB`,
      waiting.mib.toFixed(0),
      `≤ 130: ${verdict(waiting.mib <= 130)}`,
    ],
    [
      "asking for the epoch, µs, once for all within 20 ms",
      asked.epoch_us.toFixed(0),
      `÷ ${fan.viewers} clients ≤ 5: ${verdict(asked.epoch_us / fan.viewers <= 5)}`,
    ],
    [
      "asking everything, µs, when the epoch changed or a second went by",
      asked.whole_us.toFixed(0),
      "",
    ],
  ];
  return [
    "| what | measured | target |",
    "|---|---|---|",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
  ].join("\n");
}
