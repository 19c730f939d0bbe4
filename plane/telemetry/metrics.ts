// The plane's metrics, in Prometheus' text form. Labels are closed sets: no host, no customer, nothing that somebody typed.
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import { isTerminal } from "@aim/contract";
import { Remembered, type Observer, type Seen } from "../execution/observer.ts";
import type { Gauges } from "../store/uses/gauges.ts";

/** The store is asked at most this often, whoever scrapes. */
const GAUGES_FOR_MS = 5_000;
const QUICK_S = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const LONG_S = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400];

export interface Metrics {
  readonly observer: Observer;
  /** One answered request; `route` is a name of the route table or `none`. */
  readonly answered: (request: {
    readonly route: string;
    readonly status: number;
    readonly seconds: number;
  }) => void;
  /** Answers what to call when the stream ends. */
  readonly streamOpened: (kind: "ndjson" | "sse") => () => void;
  readonly contentType: string;
  readonly text: () => Promise<string>;
}

export interface MetricsParts {
  readonly read: () => Promise<Gauges>;
  /** Plane time in milliseconds. */
  readonly now: () => number;
}

export function createMetrics(parts: MetricsParts): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "aim_" });
  const { answered, streamOpened } = createHttpMetrics(registry);
  const refresh = createStoreMetrics(registry, parts.now);
  let readAt = Number.NEGATIVE_INFINITY;

  async function text(): Promise<string> {
    if (parts.now() - readAt >= GAUGES_FOR_MS) {
      readAt = parts.now();
      refresh(await parts.read());
    }
    return registry.metrics();
  }

  return {
    observer: createAttemptMetrics(registry),
    answered,
    streamOpened,
    contentType: registry.contentType,
    text,
  };
}

function createHttpMetrics(registry: Registry): Pick<Metrics, "answered" | "streamOpened"> {
  const registers = [registry];
  const requests = new Histogram({
    name: "aim_http_request_seconds",
    help: "Time from a request's arrival to the end of its answer.",
    labelNames: ["route", "status"],
    buckets: QUICK_S,
    registers,
  });
  const uploads = new Histogram({
    name: "aim_upload_chunk_seconds",
    help: "Time that one chunk of an artifact took to arrive and be kept.",
    buckets: QUICK_S,
    registers,
  });
  const streams = new Gauge({
    name: "aim_streams_open",
    help: "Readers that follow a run.",
    labelNames: ["kind"],
    registers,
  });
  return {
    answered: ({ route, status, seconds }) => {
      requests.observe({ route, status: String(status) }, seconds);
      if (route === "upload" && status < 300) uploads.observe(seconds);
    },
    streamOpened: (kind) => {
      streams.inc({ kind });
      return () => streams.dec({ kind });
    },
  };
}

function createStoreMetrics(registry: Registry, now: () => number): (gauges: Gauges) => void {
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
  const attempts = gauge("aim_attempts", "Attempts that have not ended.", [
    "state",
    "job_type",
    "runner_kind",
  ]);
  const runners = gauge("aim_pool_runners", "Runners that were heard of.", ["runner_kind"]);
  const slots = gauge("aim_pool_slots", "Attempts that those runners can hold.", ["runner_kind"]);
  const held = gauge("aim_pool_held", "Attempts that runners hold.", ["runner_kind"]);
  const waiting = gauge("aim_outbox_waiting", "Deliveries to callbacks that wait.");
  const age = gauge("aim_outbox_age_seconds", "How long the oldest delivery has waited.");
  const dead = gauge("aim_outbox_dead", "Deliveries to callbacks that were given up.");

  return (found) => {
    for (const each of [attempts, runners, slots, held]) each.reset();
    for (const { count, job_type, runner_kind, state } of found.attempts) {
      attempts.set({ state, job_type, runner_kind: runner_kind ?? "none" }, count);
      if (runner_kind !== null) held.inc({ runner_kind }, count);
    }
    for (const { runner_kind, ...of } of found.pool) {
      runners.set({ runner_kind }, of.runners);
      slots.set({ runner_kind }, of.slots);
    }
    const { waitingSince } = found.deliveries;
    waiting.set(found.deliveries.waiting);
    dead.set(found.deliveries.dead);
    age.set(waitingSince === null ? 0 : Math.max(0, now() - waitingSince) / 1000);
  };
}

interface Life {
  readonly epoch: number;
  readonly leased: number;
  readonly beat: number | null;
}

function createAttemptMetrics(registry: Registry): Observer {
  const ofType = ["job_type", "runner_kind"] as const;
  const times = createAttemptTimes(registry);
  const ended = new Counter({
    name: "aim_attempts_ended_total",
    help: "Attempts that ended.",
    labelNames: [...ofType, "state"],
    registers: [registry],
  });
  const failures = new Counter({
    name: "aim_attempt_failures_total",
    help: "Attempts that ended with a failure category.",
    labelNames: ["job_type", "category"],
    registers: [registry],
  });
  const lost = new Counter({
    name: "aim_journal_events_lost_total",
    help: "Events of ended attempts that were produced and not stored.",
    registers: [registry],
  });
  const lives = new Remembered<Life>();

  function close(seen: Seen): void {
    const { attempt, job, now } = seen;
    const labels = { job_type: job?.spec.job_type ?? "none", runner_kind: kindOf(seen) };
    ended.inc({ ...labels, state: attempt.state });
    if (attempt.failureCategory !== null) {
      failures.inc({ job_type: labels.job_type, category: attempt.failureCategory });
    }
    lost.inc(attempt.eventsLost);
    if (attempt.started !== null) {
      times.execution.observe({ ...labels, state: attempt.state }, secondsTo(now, attempt.started));
    }
    if (attempt.cancelRequested !== null) {
      times.cancellation.observe(secondsTo(now, attempt.cancelRequested));
    }
    lives.forget(attempt.id);
  }

  return {
    accepted: () => undefined,
    claimed: ({ attempt, job, now, runnerKind }) => {
      if (lives.get(attempt.id)?.epoch === attempt.epoch) return;
      const labels = { job_type: job?.spec.job_type ?? "none", runner_kind: runnerKind ?? "none" };
      times.queue.observe(labels, secondsTo(now, attempt.created));
      lives.set(attempt.id, { epoch: attempt.epoch, leased: now, beat: null });
    },
    moved: (seen) => {
      const { attempt, now } = seen;
      const life = lives.get(attempt.id);
      if (attempt.state === "running" && life !== undefined) {
        times.lease.observe(secondsTo(now, life.leased));
      }
      if (isTerminal(attempt.state)) close(seen);
    },
    beat: (attemptId, now) => {
      const life = lives.get(attemptId);
      if (life === undefined) return;
      times.beat.observe(secondsTo(now, life.beat ?? life.leased));
      lives.set(attemptId, { ...life, beat: now });
    },
  };
}

function createAttemptTimes(registry: Registry) {
  const histogram = (
    name: string,
    of: { help: string; buckets: number[]; labelNames?: readonly string[] },
  ) =>
    new Histogram({
      name,
      help: of.help,
      buckets: of.buckets,
      labelNames: [...(of.labelNames ?? [])],
      registers: [registry],
    });
  const labelNames = ["job_type", "runner_kind"];
  return {
    queue: histogram("aim_attempt_queue_seconds", {
      help: "Time from an attempt's acceptance to its first lease.",
      buckets: LONG_S,
      labelNames,
    }),
    lease: histogram("aim_attempt_lease_seconds", {
      help: "Time from a lease to the start of the tool.",
      buckets: LONG_S,
    }),
    execution: histogram("aim_attempt_execution_seconds", {
      help: "Time from the start of the tool to the attempt's end.",
      buckets: LONG_S,
      labelNames: [...labelNames, "state"],
    }),
    cancellation: histogram("aim_attempt_cancellation_seconds", {
      help: "Time from the request to stop to the attempt's end.",
      buckets: LONG_S,
    }),
    beat: histogram("aim_heartbeat_gap_seconds", {
      help: "Time between two heartbeats of one attempt; a lease ends after 30 s without one.",
      buckets: QUICK_S,
    }),
  };
}

const kindOf = ({ runnerKind }: Seen): string => runnerKind ?? "none";
const secondsTo = (now: number, since: number): number => Math.max(0, now - since) / 1000;
