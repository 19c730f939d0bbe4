import { beforeEach, expect, test } from "vitest";
import type { RunEvent } from "@aim/contract";
import type { Store } from "../../plane/store/store.ts";
import { onBothStores } from "../harness/both-stores.ts";
import {
  aCompletion,
  aJob,
  anAttempt,
  enqueue,
  NOW,
  saveRevision,
  TTL_MS,
} from "../store/samples.ts";
import { eventAt, eventsAt } from "./journal-plane.ts";

const WIDE = { maxEvents: 20_000, maxBytes: 8_388_608 };
const sizeOf = (event: RunEvent): number => Buffer.byteLength(JSON.stringify(event));

onBothStores("a journal", (fresh) => {
  let store: Store;
  beforeEach(() => {
    store = fresh();
  });

  async function begin(key: string, mode?: "detail") {
    if (mode === undefined) await enqueue(store, key);
    else {
      await saveRevision(store, key);
      const plain = aJob(key);
      const job = { ...plain, spec: { ...plain.spec, inputs: { progress_mode: mode } } };
      await store.createJob({ job, attempt: anAttempt(job), revision: null });
    }
    const claimed = await store.claimNext({
      runner: "rnr_1",
      claimId: key,
      ttlMs: TTL_MS,
      jobTypes: ["ansible.playbook.run"],
      now: NOW,
    });
    if (claimed === null) throw new Error("nothing to claim");
    const { epoch, id: attemptId } = claimed.attempt;
    for (const to of ["preparing", "running", "finalizing"] as const) {
      await store.applyStep({ attemptId, command: { do: "move", epoch, to }, now: NOW });
    }
    const append = (events: readonly RunEvent[], limits = WIDE, lost = 0) =>
      store.appendEvents({ attemptId, epoch, events, lost, now: NOW, limits });
    return { attemptId, jobId: claimed.job.id, append };
  }

  async function known(jobId: string) {
    const found = await store.readKnownJournals({ jobId });
    const journal = found?.attempts.at(-1)?.journal;
    if (found === null || journal === null || journal === undefined) throw new Error("no journal");
    return { ...journal, gaps: found.gaps };
  }

  async function all(attemptId: string): Promise<RunEvent[]> {
    const rows = await store.readEvents({ attemptId, after: 0, limit: 100_000 });
    return rows.map(({ event }) => JSON.parse(event) as RunEvent);
  }

  const complete = (attemptId: string, last: number, lost: number) =>
    store.applyStep({
      attemptId,
      now: NOW,
      command: {
        do: "complete",
        epoch: 1,
        report: { digest: "d", verdict: "succeeded", effect: "complete", killConfirmed: true },
      },
      completion: aCompletion(1, { last_event_sequence: last, events_lost: lost }),
      manifestDigest: "m".repeat(64),
    });

  test("a repeated batch, or one that overlaps, changes nothing that was stored", async () => {
    const { append, attemptId, jobId } = await begin("a");
    await append(eventsAt(attemptId, 1, 50));
    const before = await known(jobId);
    await append(eventsAt(attemptId, 1, 50));
    expect(await known(jobId)).toEqual(before);
    await append([...eventsAt(attemptId, 30, 60), ...eventsAt(attemptId, 40, 60)]);
    expect(await all(attemptId)).toEqual(eventsAt(attemptId, 1, 60));
    expect(await known(jobId)).toMatchObject({ stored: 60, retained: 60, last_sequence: 60 });
  });

  test("an event of another run is refused with its whole batch", async () => {
    const { append, attemptId, jobId } = await begin("a");
    const other = `run_${"0".repeat(26)}`;
    expect(await append([eventAt(attemptId, 1), eventAt(other, 2)])).toBe("invalid_request");
    expect((await store.readKnownJournals({ jobId }))?.attempts.at(-1)?.journal).toBeNull();
  });

  test("at the limit of events the newest stay, and what went is counted in the same commit", async () => {
    const limits = { ...WIDE, maxEvents: 100 };
    const { append, attemptId, jobId } = await begin("a");
    let produced = 0;
    for (const size of [60, 40, 1, 128, 7, 128, 128, 3]) {
      await append(eventsAt(attemptId, produced + 1, produced + size), limits);
      produced += size;
      const journal = await known(jobId);
      const events = await all(attemptId);
      expect(events).toEqual(eventsAt(attemptId, journal.omitted + 1, produced));
      expect(journal).toMatchObject({
        stored: produced,
        retained: events.length,
        bytes: events.reduce((sum, event) => sum + sizeOf(event), 0),
        first_sequence: events[0]?.sequence,
        omitted_from: journal.omitted === 0 ? null : 1,
        omitted_to: journal.omitted === 0 ? null : journal.omitted,
      });
      expect(journal.retained).toBeLessThanOrEqual(100);
      expect(journal.retained).toBeGreaterThanOrEqual(Math.min(produced, 95));
    }
  });

  test("at the limit of bytes the same holds, to the byte, even within one batch", async () => {
    const limits = { maxEvents: 20_000, maxBytes: 65_536 };
    const { append, attemptId, jobId } = await begin("a");
    const long = (sequence: number): RunEvent =>
      ({
        ...eventAt(attemptId, sequence),
        kind: "play_started",
        play_id: "p1",
        label: "é".repeat(sequence % 700),
        label_redacted: false,
      }) as never;
    const made: RunEvent[] = [];
    for (let batch = 0; batch < 8; batch += 1) {
      const events = Array.from({ length: 128 }, (_, at) => {
        const { event_version, kind, label, label_redacted, play_id, run_id, sequence, timestamp } =
          long(batch * 128 + at + 1) as Extract<RunEvent, { kind: "play_started" }>;
        return { event_version, run_id, sequence, timestamp, kind, play_id, label, label_redacted };
      });
      made.push(...events);
      await append(events, limits);
      const journal = await known(jobId);
      const kept = made.slice(journal.omitted);
      expect(await all(attemptId)).toEqual(kept);
      const bytes = kept.reduce((sum, event) => sum + sizeOf(event), 0);
      expect([journal.bytes, journal.retained]).toEqual([bytes, kept.length]);
      expect(bytes).toBeLessThanOrEqual(65_536);
      // No more went than had to, in steps of a twentieth.
      if (journal.omitted > 0) expect(bytes).toBeGreaterThan(60_000);
    }
  });

  test("names that no event needs any more go, and those that are needed stay", async () => {
    const limits = { ...WIDE, maxEvents: 100 };
    const { append, attemptId, jobId } = await begin("a");
    for (let batch = 0; batch < 20; batch += 1) {
      const events = eventsAt(attemptId, batch * 128 + 1, batch * 128 + 128).map((event) => ({
        ...event,
        host: `host-${event.sequence}`,
      })) as RunEvent[];
      await append(events, limits);
    }
    const { names } = await known(jobId);
    expect(names).toBeLessThan(1_024 + 3 * 128);
    const events = await all(attemptId);
    expect(events.at(-1)).toMatchObject({ sequence: 2_560, host: "host-2560" });
  });

  test("losses have their place: a hole while the queue was full, another at the end", async () => {
    const { append, attemptId, jobId } = await begin("a");
    await append(eventsAt(attemptId, 1, 10));
    await append(eventsAt(attemptId, 11, 20), WIDE, 7);
    await append(eventsAt(attemptId, 28, 30), WIDE, 7);
    await complete(attemptId, 35, 12);
    const { capture, gaps, lost, stored } = await known(jobId);
    expect(gaps.map(({ events, reason }) => [events, reason])).toEqual([
      [7, "queue_full"],
      [5, "not_delivered"],
    ]);
    expect([capture, stored, lost]).toEqual(["closed", 24, 12]);
    // Produced: what the runner numbered, and the plane's own last event.
    expect(stored + lost).toBe(35 + 1);
    const found = await store.readAttempt({ attemptId });
    expect(found?.attempt.result?.journal).toEqual({
      stored: 24,
      lost: 12,
      first_sequence: 1,
      last_sequence: 36,
    });
  });

  test("an attempt that ended without a report has an open capture, one that never began a closed one", async () => {
    const { append, attemptId, jobId } = await begin("a");
    await append(eventsAt(attemptId, 1, 3));
    await store.applyStep({ attemptId, command: { do: "reap" }, now: NOW + TTL_MS });
    expect((await known(jobId)).capture).toBe("live");
    const waiting = await enqueue(store, "b");
    await store.applyStep({ attemptId: waiting.id, command: { do: "cancel" }, now: NOW });
    expect((await known(waiting.jobId)).capture).toBe("closed");
  });

  test("the counters of a detailed run are no records, and those of a summary are", async () => {
    const counters = (runId: string, sequence: number): RunEvent => ({
      event_version: "1.0",
      run_id: runId,
      sequence,
      timestamp: "2026-01-01T00:00:00.000000Z",
      kind: "progress",
      tasks_started: sequence,
      results: { ok: 1, changed: 0, failed: 0, unreachable: 0, skipped: 0 },
    });
    for (const [mode, records] of [
      ["detail", [2]],
      [undefined, [1, 2, 3]],
    ] as const) {
      const { append, attemptId, jobId } = await begin(mode ?? "summary", mode);
      await append([counters(attemptId, 1), eventAt(attemptId, 2), counters(attemptId, 3)]);
      const page = await store.readJournal({ jobId, after: 0, limit: 10 });
      expect(page?.records.map(({ cursor }) => cursor % 1_000_000_000)).toEqual(records);
      // Whoever follows the run itself gets all that it said.
      expect((await all(attemptId)).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    }
  });
});
