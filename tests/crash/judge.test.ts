import { expect, test } from "vitest";
import type { Row } from "../harness/stored.ts";
import { judge } from "./judge.ts";
import { nothingTold, type Told } from "./told.ts";

type Table = "attempts" | "jobs" | "heartbeats" | "events" | "usage";
type Tables = Record<Table, Row[]>;

const RUN = "run";

function event(sequence: number, kind: string): string {
  return JSON.stringify({ sequence, kind });
}

/** What is stored of one job that was carried out as it should be. */
function honest(): Tables {
  const eventRow = (sequence: number, kind: string): Row => {
    return { attempt_id: RUN, sequence, event: event(sequence, kind) };
  };
  return {
    jobs: [{ id: "job", idempotency_key: "key" }],
    attempts: [
      { id: RUN, job_id: "job", state: "succeeded", cancel_requested_ms: null, result: "{}" },
    ],
    heartbeats: [{ attempt_id: RUN, epoch: 1, seq: 1 }],
    events: [eventRow(1, "stage"), eventRow(2, "result")],
    usage: [{ attempt_id: RUN, state: "succeeded" }],
  };
}

function toldOfIt(): Told {
  const told = nothingTold();
  told.jobs.set("key", { jobId: "job", runId: RUN, text: "" });
  told.grants.push({ attemptId: RUN, epoch: 1, runner: "one" });
  told.heartbeats.add(`${RUN} 1 1`);
  told.events.set(RUN, new Map([[1, event(1, "stage")]]));
  told.ended.set(RUN, "succeeded");
  return told;
}

function verdict(change: (stored: Tables, told: Told) => void): string[] {
  const stored = honest();
  const told = toldOfIt();
  change(stored, told);
  const rows = (query: string) => stored[/FROM (\w+)/.exec(query)?.[1] as Table];
  return judge(told, { rows, events: stored.events });
}

const first = ({ attempts }: Tables, fields: Row): void => {
  attempts[0] = { ...attempts[0], ...fields };
};

test("the judge finds nothing where all is as it was told", () => {
  expect(verdict(() => undefined)).toEqual([]);
});

test.for<[string, (stored: Tables, told: Told) => void]>([
  ["a lost job", (stored) => void stored.jobs.pop()],
  ["a job made twice", (stored) => void stored.jobs.push({ id: "two", idempotency_key: "other" })],
  ["a lost attempt", (stored) => void stored.attempts.pop()],
  ["a second attempt", ({ attempts }) => void attempts.push({ ...attempts[0], id: "other" })],
  ["an attempt that never ended", (stored) => first(stored, { state: "running" })],
  ["another end than was answered", (stored) => first(stored, { state: "lost" })],
  ["a stop that nobody asked for", (stored) => first(stored, { state: "cancelled" })],
  ["an end without a result", (stored) => first(stored, { result: null })],
  ["a lost heartbeat", (stored) => void stored.heartbeats.pop()],
  ["a lost event", (stored) => void stored.events.shift()],
  ["an event twice", ({ events }) => void events.unshift(events[0] ?? {})],
  ["a second result", ({ events }) => void events.push({ ...events[1], sequence: 3 })],
  ["a missing usage row", (stored) => void stored.usage.pop()],
  ["usage of another end", (stored) => void (stored.usage[0] = { attempt_id: RUN, state: "lost" })],
  [
    "one lease for two runners",
    (_, { grants }) => void grants.push({ attemptId: RUN, epoch: 1, runner: "two" }),
  ],
  ["what a plane must never answer", (_, { broken }) => void broken.push("internal")],
])("the judge finds %s", ([, change]) => {
  expect(verdict(change)).not.toEqual([]);
});
