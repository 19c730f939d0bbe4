// The journal's own part of a plane: a real store, the dispatcher that takes events in, and the routes on a real server,
// where a test says who asks.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Client } from "@aim/sdk";
import type { Principal, RunEvent } from "@aim/contract";
import { createClock } from "../../plane/base/clock.ts";
import { mayStillRead } from "../../plane/core/rights.ts";
import { Dispatcher, eventsTopic } from "../../plane/execution/dispatcher.ts";
import { createInspections } from "../../plane/execution/inspections.ts";
import { createMetrics } from "../../plane/telemetry/metrics.ts";
import { observers } from "../../plane/execution/observer.ts";
import { createSignals } from "../../plane/execution/signals.ts";
import { LOCAL_PRINCIPAL } from "../../plane/http/identity.ts";
import { createJournalFeeds } from "../../plane/http/journal-feed.ts";
import { addJournalRoutes } from "../../plane/http/journal-routes.ts";
import { createJournalStreams, type StillMay } from "../../plane/http/journal-stream.ts";
import { createJournalWatch } from "../../plane/http/journal-watch.ts";
import { openIdentifiedServer } from "../../plane/http/testing/identified-server.ts";
import type { JournalLimits } from "../../plane/journal/retention.ts";
import { openSqliteStore } from "../../plane/store/dialects/sqlite/store.ts";
import { sha256 } from "../../plane/store/blobs.ts";
import type { Store } from "../../plane/store/store.ts";
import { aCompletion, aJob, anAttempt, saveRevision } from "../store/samples.ts";

export interface RunningJob {
  readonly jobId: string;
  readonly runId: string;
  readonly epoch: number;
}

export interface JournalPlane {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly url: string;
  readonly databasePath: string;
  readonly client: Client;
  /** A job whose attempt runs under a lease. */
  readonly startJob: (owner?: string) => Promise<RunningJob>;
  readonly end: (job: RunningJob, last: number, lost?: number) => Promise<void>;
  readonly wake: (runId: string) => void;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

export interface JournalPlaneOptions {
  readonly limits?: JournalLimits;
  readonly streams?: { readonly each: number; readonly all: number };
  /** Who asks, by the header `test-principal`; whoever owns the installation without one. */
  readonly principals?: (name: string) => Principal;
  readonly stillMay?: (store: Store) => StillMay;
  readonly readEpoch?: (store: Store) => () => Promise<number>;
}

const fail = (error: Error): void => {
  throw error;
};

export async function openJournalPlane(options: JournalPlaneOptions = {}): Promise<JournalPlane> {
  const folder = mkdtempSync(join(tmpdir(), "aim-journal-"));
  const databasePath = join(folder, "aim.sqlite");
  const store = await openSqliteStore(databasePath, fail);
  const clock = createClock();
  const signals = createSignals();
  const dispatcher = new Dispatcher({
    store,
    clock,
    signals,
    inspections: createInspections(
      () => "ins",
      () => undefined,
    ),
    digest: sha256,
    sizeOf: async () => 0,
    leaseTtlMs: 3_600_000,
    observer: observers([], () => undefined),
    onEnd: () => undefined,
    ...(options.limits === undefined ? {} : { journalLimits: options.limits }),
  });
  const readEpoch = options.readEpoch?.(store) ?? (() => store.readRightsEpoch());
  const journalStreams = createJournalStreams({
    feeds: createJournalFeeds(store, signals),
    watch: createJournalWatch({ signals, store, readEpoch }),
    readEpoch,
    stillMay: options.stillMay?.(store) ?? mayStillRead(store),
    ...(options.streams === undefined ? {} : { limits: options.streams }),
  });
  const metrics = createMetrics({
    now: clock.now,
    read: () => store.readGauges({ heardSince: 0 }),
  });
  const server = await openIdentifiedServer(options.principals ?? (() => LOCAL_PRINCIPAL), (app) =>
    addJournalRoutes(app, { store, clock, journalStreams, metrics }),
  );
  const { url } = server;

  async function startJob(owner = "local"): Promise<RunningJob> {
    const key = crypto.randomUUID();
    await saveRevision(store, key);
    const now = clock.now();
    const job = { ...aJob(key), owner };
    const attempt = anAttempt(job, { deadline: now + 3_600_000, created: now });
    await store.createJob({ job, attempt, revision: key });
    const claimed = await store.claimNext({
      runner: "rnr_1",
      claimId: key,
      ttlMs: 3_600_000,
      jobTypes: ["ansible.playbook.run"],
      now,
    });
    if (claimed === null) throw new Error("nothing to claim");
    const { epoch, id: runId } = claimed.attempt;
    for (const to of ["preparing", "running", "finalizing"] as const) {
      await dispatcher.move(runId, { epoch, to });
    }
    return { jobId: job.id, runId, epoch };
  }

  async function end({ epoch, runId }: RunningJob, last: number, lost = 0): Promise<void> {
    const completion = aCompletion(epoch, { last_event_sequence: last, events_lost: lost });
    const manifest = { ...completion.manifest, attempt_id: runId };
    await dispatcher.complete(runId, { ...completion, manifest });
  }

  return {
    store,
    dispatcher,
    url,
    databasePath,
    client: createClient({ url }),
    startJob,
    end,
    wake: (runId) => signals.wake(eventsTopic(runId)),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Results of many hosts in many tasks, as a run makes them. */
export function eventAt(runId: string, sequence: number): RunEvent {
  return {
    event_version: "1.0",
    run_id: runId,
    sequence,
    timestamp: new Date(Date.UTC(2026, 0, 1) + sequence).toISOString().replace("Z", "000Z"),
    kind: "host_result",
    play_id: "p1",
    task_id: `t${Math.floor(sequence / 200) + 1}`,
    host: `web-${String(sequence % 200).padStart(3, "0")}.example`,
    host_redacted: false,
    status: sequence % 3 === 0 ? "changed" : "ok",
    changed: sequence % 3 === 0,
    ignored: false,
    details_redacted: false,
    error: null,
  };
}

export function eventsAt(runId: string, from: number, to: number): RunEvent[] {
  return Array.from({ length: to - from + 1 }, (_, index) => eventAt(runId, from + index));
}

/** Stores the events `from` to `to` in batches as a runner sends them. */
export async function feed(
  plane: JournalPlane,
  { epoch, runId }: RunningJob,
  range: { readonly from: number; readonly to: number },
): Promise<void> {
  for (let from = range.from; from <= range.to; from += 128) {
    const events = eventsAt(runId, from, Math.min(range.to, from + 127));
    await plane.dispatcher.events(runId, { epoch, events, lost: 0 });
  }
}
