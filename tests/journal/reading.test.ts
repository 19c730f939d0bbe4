import { afterAll, beforeAll, expect, test } from "vitest";
import {
  JournalPageSchema,
  JournalSnapshotSchema,
  type JournalMessage,
  type JournalRecord,
} from "@aim/contract";
import { check } from "../../plane/http/check.ts";
import { feed, openJournalPlane, eventAt, type JournalPlane } from "./journal-plane.ts";

let plane: JournalPlane;
beforeAll(async () => {
  plane = await openJournalPlane({ limits: { maxEvents: 400, maxBytes: 8_388_608 } });
});
afterAll(() => plane[Symbol.asyncDispose]());

const sequences = (records: readonly JournalRecord[]) => records.map(({ event }) => event.sequence);
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

async function collect(jobId: string, after = 0): Promise<JournalMessage[]> {
  const found: JournalMessage[] = [];
  for await (const message of plane.client.followJournal(jobId, { after })) found.push(message);
  return found;
}

const recordsOf = (messages: readonly JournalMessage[]): JournalRecord[] =>
  messages.flatMap((message) => (message.name === "batch" ? message.data.records : []));

test("the first page is the newest tail, and every later one goes on behind a cursor", async () => {
  const job = await plane.startJob();
  await feed(plane, job, { from: 1, to: 350 });
  const newest = await plane.client.journal(job.jobId);
  check(JournalPageSchema, newest);
  expect(sequences(newest.records)).toEqual(numbers(151, 350));
  expect(newest.records.at(-1)?.cursor).toBe(newest.cursor);
  const seen: number[] = [];
  for (let after = 0, more = true; more;) {
    const next = await plane.client.journal(job.jobId, { after, limit: 60 });
    expect(next.records.length).toBeLessThanOrEqual(60);
    seen.push(...sequences(next.records));
    ({ cursor: after, more } = next);
  }
  expect(seen).toEqual(numbers(1, 350));
  for (const limit of [0, 501, 1.5]) {
    await expect(plane.client.journal(job.jobId, { limit })).rejects.toMatchObject({
      code: "invalid_request",
      at: "/limit",
    });
  }
});

test("what retention removed is told as a gap, to the page, the stream and the snapshot alike", async () => {
  const job = await plane.startJob();
  await feed(plane, job, { from: 1, to: 1_000 });
  await plane.end(job, 1_000);
  const snapshot = await plane.client.journalSnapshot(job.jobId);
  check(JournalSnapshotSchema, snapshot);
  const [coverage] = snapshot.coverage;
  const omitted = coverage?.omitted ?? { events: 0, from_sequence: 0, to_sequence: 0 };
  expect(coverage).toMatchObject({ stored: 1_001, lost: 0, capture: "closed" });
  expect(omitted.from_sequence).toBe(1);
  expect(omitted.events).toBe(omitted.to_sequence);
  expect(coverage?.retained).toMatchObject({
    events: 1_001 - omitted.events,
    first_sequence: omitted.to_sequence + 1,
    last_sequence: 1_001,
  });
  expect(coverage?.retained.events).toBeLessThanOrEqual(400);
  const messages = await collect(job.jobId);
  expect(messages[0]).toMatchObject({
    name: "gap",
    data: { run_id: job.runId, events: omitted.events, reason: "retention" },
  });
  expect(sequences(recordsOf(messages))).toEqual(numbers(omitted.to_sequence + 1, 1_001));
  expect(messages.at(-1)).toEqual({ name: "end", data: { cursor: snapshot.cursor } });
  const first = await plane.client.journal(job.jobId, { after: 0 });
  expect(first.gaps).toEqual([messages[0]?.data]);
  // The old reader of a run begins with what is there.
  expect(
    (await plane.store.readEvents({ attemptId: job.runId, after: 0, limit: 1 }))[0]?.sequence,
  ).toBe(omitted.to_sequence + 1);
});

test("the matrix tells which host had which last result in which task of what is retained", async () => {
  const job = await plane.startJob();
  await feed(plane, job, { from: 200, to: 420 });
  const { checkpoint, cursor, matrix } = await plane.client.journalSnapshot(job.jobId);
  expect(matrix.cursor).toBe(cursor);
  expect(matrix.tasks.map(({ task_id }) => task_id)).toEqual(["t2", "t3"]);
  expect(matrix.cells).toHaveLength(221);
  const told = matrix.cells.map(({ host, status, task }) => [
    matrix.hosts[host],
    matrix.tasks[task]?.task_id,
    status,
  ]);
  const made = numbers(200, 420).map((sequence) => {
    const event = eventAt(job.runId, sequence);
    return event.kind === "host_result" ? [event.host, event.task_id, event.status] : [];
  });
  expect(told).toEqual(made);
  expect(checkpoint?.hosts).toHaveLength(200);
});

test("an event that is stored reaches a reader at once, not at its next look", async () => {
  const job = await plane.startJob();
  const waits: number[] = [];
  let sent = performance.now();
  const sending = feed(plane, job, { from: 1, to: 1 });
  let sequence = 1;
  for await (const message of plane.client.followJournal(job.jobId)) {
    if (message.name === "end") break;
    waits.push(performance.now() - sent);
    await sending;
    sequence += 1;
    if (sequence > 20) {
      await plane.end(job, 20);
      continue;
    }
    sent = performance.now();
    await feed(plane, job, { from: sequence, to: sequence });
  }
  const late = waits.filter((ms) => ms > 700);
  expect(late).toEqual([]);
});

test("an attempt says whether it waits, is captured, was interrupted or is closed", async () => {
  const { store } = plane;
  const job = await plane.startJob();
  const capture = async () => (await plane.client.journalSnapshot(job.jobId)).capture;
  expect(await capture()).toBe("waiting");
  await feed(plane, job, { from: 1, to: 3 });
  expect(await capture()).toBe("live");
  const later = Date.now() + 2 * 3_600_000;
  await store.applyStep({ attemptId: job.runId, command: { do: "reap" }, now: later });
  expect(await capture()).toBe("interrupted");
});

test("a cursor that the journal never reached is answered with a reset, a bad one refused", async () => {
  const job = await plane.startJob();
  await feed(plane, job, { from: 1, to: 3 });
  expect(await collect(job.jobId, 5_000_000_000)).toEqual([
    { name: "reset", data: { reason: "cursor_unknown" } },
  ]);
  const answer = await fetch(`${plane.url}/v1/jobs/${job.jobId}/journal/stream`, {
    headers: { "last-event-id": "x" },
  });
  expect([answer.status, ((await answer.json()) as { at: string }).at]).toEqual([
    400,
    "/last-event-id",
  ]);
});

test("a deleted job is gone with its journal, its readers hear it, and its key is never used again", async () => {
  const job = await plane.startJob();
  await feed(plane, job, { from: 1, to: 10 });
  await expect(plane.client.deleteJob(job.jobId)).rejects.toMatchObject({ code: "state_conflict" });
  await plane.end(job, 10);
  const before = await plane.store.readUsage({ after: 0, limit: 1_000, customers: null });
  const found = await plane.store.readJob({ jobId: job.jobId });
  await plane.client.deleteJob(job.jobId);
  const { client } = plane;
  const calls = [client.journal(job.jobId), client.journalSnapshot(job.jobId)];
  for (const call of [...calls, client.deleteJob(job.jobId)]) {
    await expect(call).rejects.toMatchObject({ code: "not_found" });
  }
  expect(await plane.store.readEvents({ attemptId: job.runId, after: 0, limit: 1 })).toEqual([]);
  const usage = await plane.store.readUsage({ after: 0, limit: 1_000, customers: null });
  expect(usage).toEqual(before);
  expect(usage.some(({ attempt_id }) => attempt_id === job.runId)).toBe(true);
  if (found === null) throw new Error("no job");
  const { attempts, job: same } = found;
  const again = { job: same, attempt: attempts[0] as never, revision: null };
  await expect(plane.store.createJob(again)).rejects.toMatchObject({ code: "job_deleted" });
});
