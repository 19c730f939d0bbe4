import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Coverage, JournalGap } from "@aim/contract";
import { createCaptureQueue } from "../../runner/capture/queue.ts";
import { makeFolder, type TestPlane } from "../harness/plane.ts";
import { reportOf } from "../harness/scripted-runner.ts";
import { eventAt } from "./journal-plane.ts";
import { homeOf, startAlone, submit, type Submitted } from "./submitted.ts";

const LONG = process.env["AIM_TEST_LONG"] === "1";
const EVENTS = LONG ? 5_000_000 : 60_000;
const OUTAGE_MS = LONG ? 10_000 : 2_000;
const RATE = 20_000;
const SLICE_MS = 5;
const WIDE = ["--journal-max-events", "200000", "--journal-max-bytes", "67108864"];
const NARROW = ["--journal-max-events", "1000"];

interface Outage {
  /** Called once, after a third of the run, which does not wait for it. */
  readonly strike: (plane: TestPlane) => Promise<TestPlane>;
  readonly limits: readonly string[];
  readonly home?: string;
}

/** Events at a fixed rate through the runner's own queue, while the plane has a bad time. */
async function storm({ home, limits, strike }: Outage) {
  let plane = await startAlone(home ?? null, limits);
  try {
    const job = await submit(plane);
    const { epoch, attempt_id: runId } = job.grant;
    const queue = createCaptureQueue((events, lost) =>
      job.runner.events(runId, { epoch, events: [...events], lost }).then(() => undefined),
    );
    const beats = setInterval(() => void beat(job).catch(() => undefined), 1_000);
    let struck: Promise<TestPlane> = Promise.resolve(plane);
    const took: number[] = [];
    const third = Math.floor(EVENTS / 3);
    const begun = performance.now();
    for (let produced = 0; produced < EVENTS;) {
      const due = Math.min(EVENTS, Math.floor(((performance.now() - begun) / 1000) * RATE));
      if (produced < third && due >= third) struck = strike(plane);
      while (produced < due) {
        produced += 1;
        const event = eventAt(runId, produced);
        const before = performance.now();
        queue.push(event);
        took.push(performance.now() - before);
      }
      await delay(SLICE_MS);
    }
    plane = await struck;
    if (plane.process.exitCode !== null) throw new Error(plane.logText());
    await queue.close();
    clearInterval(beats);
    const [lost, last] = [queue.lost(), queue.lastSequence()];
    const report = { ...reportOf(job.grant, []), last_event_sequence: last, events_lost: lost };
    await job.runner.complete(runId, report);
    took.sort((one, other) => one - other);
    const p99 = ((took[Math.floor(took.length * 0.99)] ?? 0) * 1000).toFixed(1);
    process.stdout.write(`journal storm: ${last} produced, ${lost} lost, enqueue p99 ${p99} µs\n`);
    return await judge(plane, job, { last, lost });
  } finally {
    await plane.stop();
    if (home === undefined) rmSync(homeOf(plane), { recursive: true, force: true });
  }
}

let beatSeq = 0;
function beat({ grant, runner }: Submitted): Promise<unknown> {
  beatSeq += 1;
  const counts = { last_event_sequence: 0, events_lost: 0 };
  return runner.heartbeat(grant.attempt_id, {
    epoch: grant.epoch,
    seq: beatSeq,
    phase: "running",
    ...counts,
  });
}

interface Judged {
  readonly coverage: Coverage;
  readonly lost: number;
}

/** Every number that was produced is a record, in a declared hole, or omitted and counted; nothing is twice. */
async function judge(
  { client }: TestPlane,
  { grant, jobId }: Submitted,
  { last, lost }: { readonly last: number; readonly lost: number },
): Promise<Judged> {
  const { result, state } = await client.status(grant.attempt_id);
  expect(state).toBe("succeeded");
  expect(result?.journal).toMatchObject({ lost, last_sequence: last + 1 });
  const { coverage, gaps } = await client.journalSnapshot(jobId);
  const [own] = coverage;
  if (own === undefined) throw new Error("nothing is known");
  // The plane's own last event is no product of the runner; the queue is empty.
  expect(own.stored - 1 + own.lost).toBe(last);
  expect(own.lost).toBe(lost);
  expect(own.retained.events + (own.omitted?.events ?? 0)).toBe(own.stored);
  const sequences: number[] = [];
  for (let after = 0, more = true; more;) {
    const page = await client.journal(jobId, { after, limit: 500 });
    sequences.push(...page.records.map(({ event }) => event.sequence));
    ({ cursor: after, more } = page);
  }
  expect(sequences).toHaveLength(own.retained.events);
  expect(sequences[0]).toBe(own.retained.first_sequence);
  expect(holesIn(sequences)).toEqual(holesOf(gaps, sequences[0] ?? 0));
  return { coverage: own, lost };
}

function holesIn(sequences: readonly number[]): string[] {
  return sequences.flatMap((sequence, at) => {
    const before = sequences[at - 1] ?? sequence - 1;
    return sequence === before + 1 ? [] : [`${before + 1}–${sequence - 1}`];
  });
}

function holesOf(gaps: readonly JournalGap[], first: number): string[] {
  const base = 1_000_000_000;
  return gaps
    .filter(({ from }) => from - base > first)
    .map((gap) => {
      expect(gap.events).toBe(gap.to - gap.from + 1);
      return `${gap.from - base}–${gap.to - base}`;
    });
}

test("a plane that is killed and comes back: what was produced is stored, lost and counted, or nothing", async () => {
  const { coverage } = await storm({
    limits: NARROW,
    strike: async (plane) => {
      let next = plane;
      for (let kills = 0; kills < 3; kills += 1) {
        await next.stop("SIGKILL");
        next = await startAlone(homeOf(plane), NARROW);
      }
      return next;
    },
  });
  expect(coverage.retained.events).toBeLessThanOrEqual(1_000);
  expect(coverage.omitted?.from_sequence).toBe(1);
});

test("a plane that is locked for a while: every loss has its place and nothing else is missing", async () => {
  const { lost } = await storm({
    limits: WIDE,
    strike: async (plane) => {
      plane.process.kill("SIGSTOP");
      await delay(OUTAGE_MS);
      plane.process.kill("SIGCONT");
      return plane;
    },
  });
  // Far more than the queue holds came while nobody listened.
  expect(lost).toBeGreaterThan(0);
});

/** A small disk for the plane's state, or null where this user may not mount one. */
function mountSmall(folder: string): (() => void) | null {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    const options = ["-t", "tmpfs", "-o", "size=64m,mode=700", "none", folder];
    execFileSync("mount", options, { stdio: "pipe" });
  } catch (error) {
    process.stdout.write(`no disk can be filled: ${String(error)}\n`);
    return null;
  }
  return () => void execFileSync("umount", ["-l", folder]);
}

function fill(path: string): void {
  for (let size = 2 ** 24; size >= 1; size = Math.floor(size / 4)) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: "a" });
    } catch {
      // Smaller pieces fit where this one did not.
    }
  }
}

test("a full disk: the plane goes on, and once there is room again every number adds up", async (context) => {
  const home = makeFolder("full");
  const unmount = mountSmall(join(home, "state"));
  if (unmount === null) {
    context.skip("this user may mount no file system");
    return;
  }
  try {
    const { lost } = await storm({
      home,
      limits: WIDE,
      strike: async (plane) => {
        const filler = join(plane.stateDir, "filler");
        fill(filler);
        await delay(OUTAGE_MS);
        rmSync(filler);
        return plane;
      },
    });
    expect(lost).toBeGreaterThan(0);
  } finally {
    unmount();
    rmSync(home, { recursive: true, force: true });
  }
});
