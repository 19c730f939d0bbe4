import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PROBLEMS } from "@aim/contract";
import { startLeaseKeeper, type LeaseParts } from "./lease.ts";
import type { BeatenPlane } from "./testing/beaten-plane.ts";

/** Six beats: on a machine that others load some of them may be late. */
const LEASE_MS = 3_000;
const BLOCKED_MS = 6_000;

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "aim-lease-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function broken(error: Error): void {
  throw error;
}

function aLease(fields: Partial<LeaseParts> = {}): LeaseParts {
  return {
    attemptId: "run_1",
    epoch: 1,
    leaseMs: LEASE_MS,
    counters: () => ({ phase: "running", last_event_sequence: 7, events_lost: 2 }),
    onExtended: () => undefined,
    onCancel: () => undefined,
    onLost: () => undefined,
    ...fields,
  };
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("a main thread that is blocked for twice the lease's life never lets it run out", async () => {
  const socketPath = join(folder, "plane.sock");
  const beats = new Int32Array(new SharedArrayBuffer(4_096));
  const workerData: BeatenPlane = { socketPath, leaseMs: LEASE_MS, beats };
  const file = new URL("./testing/beaten-plane.ts", import.meta.url);
  const plane = new Worker(file, { workerData });
  await once(plane, "message");
  const told: number[] = [];
  const heard = Promise.withResolvers<void>();
  const lease = startLeaseKeeper({ socketPath }, broken).keep(
    aLease({
      onExtended: (ms) => {
        told.push(ms);
        heard.resolve();
      },
    }),
  );
  try {
    await heard.promise;
    const before = Atomics.load(beats, 0);
    const begun = performance.now();
    told.length = 0;
    block(BLOCKED_MS);
    const after = Atomics.load(beats, 0);
    const blocked = performance.now() - begun;
    expect(after - before).toBeGreaterThanOrEqual(3);
    const moments = beats.slice(before, after + 1);
    const gaps = moments.slice(1).map((moment, at) => moment - (moments[at] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(LEASE_MS);
    // What waited while the thread was blocked extends by what is left of it, and by nothing once it is over.
    await expect.poll(() => told.length).toBeGreaterThan(1);
    expect(told.length).toBeLessThan(after - before);
    expect(Math.min(...told)).toBeGreaterThan(0);
    expect(Math.min(...told)).toBeLessThan(LEASE_MS / 2);
    expect(Math.max(...told)).toBeLessThanOrEqual(LEASE_MS);
    expect(blocked).toBeGreaterThanOrEqual(BLOCKED_MS);
  } finally {
    lease.stop();
    await plane.terminate();
  }
});

/** A plane that answers each beat as told, and what was beaten. */
async function answering(answer: (beat: Record<string, unknown>) => unknown) {
  const socketPath = join(folder, "plane.sock");
  const beats: Record<string, unknown>[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (piece: Buffer) => (text += piece.toString()));
    request.on("end", () => {
      const beat = JSON.parse(text) as Record<string, unknown>;
      beats.push(beat);
      const line = answer(beat);
      response.statusCode = Object.hasOwn(line as object, "error") ? 409 : 200;
      response.end(JSON.stringify(line));
    });
  });
  server.listen(socketPath);
  await once(server, "listening");
  return { socketPath, beats, [Symbol.dispose]: () => void server.close() };
}

test("a beat carries the counters, and a stop that was asked for is passed on once", async () => {
  const cancel = { grace_ms: 5 };
  using plane = await answering(() => ({ response: { lease_ms: 300, cancel } }));
  const graces: number[] = [];
  let extended = 0;
  const thrice = Promise.withResolvers<void>();
  const onExtended = () => {
    extended += 1;
    if (extended === 3) thrice.resolve();
  };
  const onCancel = (ms: number) => graces.push(ms);
  const lease = startLeaseKeeper(plane, broken).keep(
    aLease({ leaseMs: 300, onExtended, onCancel }),
  );
  await thrice.promise;
  lease.stop();
  expect(graces).toEqual([5]);
  expect(plane.beats.slice(0, 2)).toEqual(
    [1, 2].map((seq) => ({
      epoch: 1,
      seq,
      phase: "running",
      last_event_sequence: 7,
      events_lost: 2,
    })),
  );
});

test("a plane that says the lease is over is believed", async () => {
  using plane = await answering(() => ({
    error: { code: "lease_lost", message: PROBLEMS.lease_lost[1] },
  }));
  const lost = Promise.withResolvers<void>();
  const lease = startLeaseKeeper(plane, broken).keep(
    aLease({ leaseMs: 300, onLost: () => lost.resolve() }),
  );
  await lost.promise;
  lease.stop();
});

test("the end of the beating thread is told, since nobody extends a lease then", async () => {
  const told: Error[] = [];
  const first = Promise.withResolvers<void>();
  const keeper = startLeaseKeeper({ socketPath: join(folder, "nobody.sock") }, (error) => {
    told.push(error);
    first.resolve();
  });
  // A number that the thread cannot reckon with ends it.
  const lease = keeper.keep(aLease({ leaseMs: 1n as unknown as number }));
  await first.promise;
  lease.stop();
  expect(told).toHaveLength(1);
});
