import { expect, test } from "vitest";
import type { Attempt, Job } from "../execution/attempt.ts";
import { waitingAttempt } from "../execution/attempt.ts";
import type { Gauges } from "../store/uses/gauges.ts";
import { createMetrics } from "./metrics.ts";

const GAUGES: Gauges = {
  attempts: [
    { state: "queued", job_type: "ansible.playbook.run", runner_kind: null, count: 3 },
    { state: "running", job_type: "ansible.playbook.run", runner_kind: "process", count: 2 },
  ],
  pool: [{ runner_kind: "process", runners: 2, slots: 4 }],
  deliveries: { waiting: 5, dead: 1, waitingSince: 1_000 },
};
const JOB = { spec: { job_type: "ansible.playbook.run" } } as unknown as Job;

function anAttempt(fields: Partial<Attempt>): Attempt {
  const of = { id: "run_1", jobId: "job_1", customer: "acme", number: 1, created: 0 };
  return { ...waitingAttempt({ ...of, deadline: 60_000, graceMs: 1_000 }), ...fields };
}

function watched() {
  let now = 0;
  let reads = 0;
  const metrics = createMetrics({
    now: () => now,
    read: async () => {
      reads += 1;
      return GAUGES;
    },
  });
  return { metrics, at: (ms: number) => (now = ms), reads: () => reads };
}

/** The sample with this name and exactly these labels. */
function sample(text: string, name: string): number | undefined {
  const found = text.split("\n").find((line) => line.startsWith(`${name} `));
  return found === undefined ? undefined : Number(found.slice(name.length + 1));
}

test("what stands in the store is shown, and asked at most every five seconds", async () => {
  const { metrics, at, reads } = watched();
  at(11_000);
  const text = await metrics.text();
  const type = 'job_type="ansible.playbook.run"';
  expect(sample(text, `aim_attempts{state="queued",${type},runner_kind="none"}`)).toBe(3);
  expect(sample(text, 'aim_pool_held{runner_kind="process"}')).toBe(2);
  expect(sample(text, 'aim_pool_slots{runner_kind="process"}')).toBe(4);
  expect(sample(text, "aim_outbox_age_seconds")).toBe(10);
  expect(sample(text, "aim_outbox_dead")).toBe(1);
  at(15_999);
  await metrics.text();
  expect(reads()).toBe(1);
  at(16_000);
  await metrics.text();
  expect(reads()).toBe(2);
});

test("one life of an attempt is measured in its parts", async () => {
  const { metrics } = watched();
  const { observer } = metrics;
  const seen = (now: number, fields: Partial<Attempt>) => ({
    attempt: anAttempt({ epoch: 1, ...fields }),
    job: JOB,
    runnerKind: "process",
    now,
  });
  observer.claimed(seen(2_000, { state: "leased" }));
  observer.claimed(seen(2_500, { state: "leased" }));
  observer.beat("run_1", 7_000);
  observer.beat("run_1", 13_000);
  observer.moved(seen(5_000, { state: "running" }));
  observer.moved(
    seen(65_000, {
      state: "failed",
      started: 5_000,
      cancelRequested: 60_000,
      failureCategory: "target_unreachable",
      eventsLost: 7,
    }),
  );
  const text = await metrics.text();
  const kind = 'job_type="ansible.playbook.run",runner_kind="process"';
  expect(sample(text, `aim_attempt_queue_seconds_sum{${kind}}`)).toBe(2);
  expect(sample(text, `aim_attempt_queue_seconds_count{${kind}}`)).toBe(1);
  expect(sample(text, "aim_attempt_lease_seconds_sum")).toBe(3);
  expect(sample(text, "aim_heartbeat_gap_seconds_sum")).toBe(11);
  expect(sample(text, `aim_attempt_execution_seconds_sum{${kind},state="failed"}`)).toBe(60);
  expect(sample(text, "aim_attempt_cancellation_seconds_sum")).toBe(5);
  expect(sample(text, "aim_journal_events_lost_total")).toBe(7);
  expect(sample(text, `aim_attempts_ended_total{${kind},state="failed"}`)).toBe(1);
});

test("every name begins with aim_ and no label can hold what somebody typed", async () => {
  const { metrics } = watched();
  metrics.answered({ route: "jobCreate", status: 201, seconds: 0.1 });
  metrics.streamOpened("ndjson")();
  const text = await metrics.text();
  const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !name?.startsWith("aim_"))).toEqual([]);
  const labels = new Set([...text.matchAll(/[{,]([a-z_]+)="/g)].map(([, name]) => name));
  const closed = ["state", "job_type", "runner_kind", "category", "route", "status", "kind"];
  // Of the process itself: heap spaces, garbage collections, version parts.
  const ofNode = ["le", "space", "type", "version", "major", "minor", "patch"];
  expect([...labels].filter((label) => ![...closed, ...ofNode].includes(label ?? ""))).toEqual([]);
});
