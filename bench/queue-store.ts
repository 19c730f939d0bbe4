// AIM's own queue for the benchmarks: the real store and dispatcher, without the HTTP between runner and plane.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Register } from "@aim/contract";
import { createClock } from "../plane/base/clock.ts";
import { newId } from "../plane/base/ids.ts";
import { waitingAttempt, type Attempt } from "../plane/execution/attempt.ts";
import { Dispatcher } from "../plane/execution/dispatcher.ts";
import { observers } from "../plane/execution/observer.ts";
import { createInspections } from "../plane/execution/inspections.ts";
import { createSignals } from "../plane/execution/signals.ts";
import { sha256 } from "../plane/store/blobs.ts";
import { openPostgresStore } from "../plane/store/dialects/postgres/store.ts";
import { openSqliteStore } from "../plane/store/dialects/sqlite/store.ts";
import type { Store } from "../plane/store/store.ts";
import { aCompletion, aJob, DIGEST, SPEC } from "../tests/store/samples.ts";

export const HOUR_MS = 3_600_000;

export const fail = (error: Error): void => {
  throw error;
};

export interface Queue {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly runner: string;
  readonly close: () => Promise<void>;
}

/** `url` null is SQLite in a fresh folder, durable as in the product. */
export async function openQueue(url: string | null): Promise<Queue> {
  const folder = mkdtempSync(join(tmpdir(), "aim-bench-queue-"));
  const store =
    url === null
      ? await openSqliteStore(join(folder, "aim.sqlite"), fail)
      : await openPostgresStore(url, fail);
  const signals = createSignals();
  const dispatcher = new Dispatcher({
    observer: observers([], () => undefined),
    store,
    clock: createClock(),
    signals,
    inspections: createInspections(
      () => newId("ins"),
      () => undefined,
    ),
    digest: sha256,
    sizeOf: () => Promise.resolve(null),
    onEnd: () => undefined,
  });
  const runner = newId("rnr");
  await dispatcher.register(registration(runner));
  await store.saveBundle({ customer: SPEC.customer, digest: DIGEST, files: [] });
  return {
    store,
    dispatcher,
    runner,
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function registration(runner: string): Register {
  return {
    runner_instance_id: runner,
    runner_kind: "process",
    job_types: [SPEC.job_type],
    runtime: {
      ansible_core: "2.19.11",
      python: "3.11.2",
      callback_digest: DIGEST,
      isolation: "none",
      sandbox_checks: { passed: 1, failed: 0 },
    },
    slots: 8,
  };
}

/** A job that is accepted now and has an hour. */
export async function accept(store: Store, now = Date.now()): Promise<Attempt> {
  const job = { ...aJob(newId("job")), created: now };
  const attempt = waitingAttempt({
    id: newId("run"),
    jobId: job.id,
    customer: job.customer,
    number: 1,
    deadline: now + HOUR_MS,
    graceMs: 5_000,
    created: now,
  });
  const created = await store.createJob({ job, attempt, revision: null });
  if (!created.ok) throw new Error(created.code);
  return created.attempt;
}

/** Calls `one` until `count` calls were made, `width` at a time. */
export async function inParallel(
  count: number,
  width: number,
  one: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await one(next - 1);
    }
  };
  await Promise.all(Array.from({ length: width }, work));
}

/** How far a worker brings what it was handed. */
export type Way = "claim" | "end" | "life";

/** Takes and ends everything that waits, `width` at a time; answers how many attempts it was handed. */
export async function drainQueue(queue: Queue, width: number, way: Way): Promise<number> {
  const seen = new Set<string>();
  const { signal } = new AbortController();
  const work = async (): Promise<void> => {
    for (;;) {
      const request = { runner_instance_id: queue.runner, claim_id: newId("clm"), wait_ms: 0 };
      const grant = await queue.dispatcher.claim(request, signal);
      if (grant === null) return;
      if (grant.kind !== "attempt") throw new Error(`handed a ${grant.kind}`);
      if (seen.has(grant.attempt_id)) throw new Error(`${grant.attempt_id} was handed out twice`);
      seen.add(grant.attempt_id);
      if (way !== "claim") await finish(queue, grant, way);
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  return seen.size;
}

async function finish(
  { dispatcher }: Queue,
  { attempt_id: id, epoch }: { readonly attempt_id: string; readonly epoch: number },
  way: Way,
): Promise<void> {
  const base = aCompletion(epoch);
  const completion = { ...base, manifest: { ...base.manifest, attempt_id: id } };
  if (way === "life") {
    for (const to of ["preparing", "running", "finalizing"] as const) {
      await dispatcher.move(id, { epoch, to });
    }
    await dispatcher.complete(id, completion);
    return;
  }
  // An attempt that never ran cannot succeed; its end is stored with everything that belongs to one.
  const outcome = { ...base.outcome, verdict: "failed", effect: "none" } as const;
  await dispatcher.complete(id, { ...completion, outcome });
}
