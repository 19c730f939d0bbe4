import { beforeEach, expect, test } from "vitest";
import type { Register } from "@aim/contract";
import type { Scope } from "../../plane/auth/can.ts";
import { newId } from "../../plane/base/ids.ts";
import type { Store } from "../../plane/store/store.ts";
import { onBothStores } from "../harness/both-stores.ts";
import { aCompletion, ALL_JOBS, anAttempt, aJob, enqueue, NOW, TTL_MS } from "./samples.ts";

const RUNTIME = {
  ansible_core: "2.19.11",
  python: "3.11",
  callback_digest: "c".repeat(64),
  isolation: "bubblewrap",
  sandbox_checks: { passed: 1, failed: 0 },
};

onBothStores("jobs", (fresh) => {
  let store: Store;
  beforeEach(() => {
    store = fresh();
  });

  /** Claims what waits and lets it fail after `ms`, its effect known in whole. */
  async function failNext(ms = 1_000): Promise<string> {
    const use = { runner: "rnr_1", claimId: newId("clm"), ttlMs: TTL_MS, now: NOW };
    const claimed = await store.claimNext({ ...use, jobTypes: ["ansible.playbook.run"] });
    const attemptId = claimed?.attempt.id ?? "";
    for (const to of ["preparing", "running", "finalizing"] as const) {
      await store.applyStep({ attemptId, command: { do: "move", epoch: 1, to }, now: NOW });
    }
    const completion = aCompletion(1);
    const report = {
      digest: "d",
      verdict: "failed",
      effect: "complete",
      killConfirmed: true,
    } as const;
    await store.applyStep({
      attemptId,
      command: { do: "complete", epoch: 1, report },
      now: NOW + ms,
      completion: {
        ...completion,
        outcome: { ...completion.outcome, verdict: "failed" },
        manifest: {
          ...completion.manifest,
          files: [{ path: "a", kind: "log", sha256: "b".repeat(64), size: 70 }],
        },
      },
      manifestDigest: "m".repeat(64),
    });
    return attemptId;
  }

  const retry = (jobId: string, key: string, confirmed = true) =>
    store.createAttempt({
      jobId,
      id: newId("run"),
      idempotencyKey: key,
      confirmed,
      now: NOW + 60_000,
    });

  test("a retry is one more attempt, and the same key makes it once, whoever asks at the same time", async () => {
    const { jobId } = await enqueue(store, "a");
    await failNext();
    const made = await Promise.all(Array.from({ length: 16 }, () => retry(jobId, "again")));
    const ids = made.map((created) => (created.ok ? created.attempt.id : created.code));
    expect(new Set(ids).size).toBe(1);
    expect(made.filter((created) => created.ok && created.fresh)).toHaveLength(1);
    const { attempts } = (await store.readJob({ jobId })) ?? { attempts: [] };
    expect(attempts.map(({ number, state }) => [number, state])).toEqual([
      [1, "failed"],
      [2, "queued"],
    ]);
    expect(await store.readRetry({ jobId, key: "again" })).toMatchObject({ id: ids[0] });
  });

  test("of many retries with keys of their own one is made, the others meet a live attempt", async () => {
    const { jobId } = await enqueue(store, "a");
    await failNext();
    const made = await Promise.all(Array.from({ length: 16 }, (_, key) => retry(jobId, `k${key}`)));
    const codes = made.map((created) => (created.ok ? "made" : created.code)).toSorted();
    expect(codes).toEqual(["made", ...Array<string>(15).fill("state_conflict")]);
  });

  test("a retry that nobody confirmed and one of a job that nobody knows are refused", async () => {
    const { jobId } = await enqueue(store, "a");
    await failNext();
    expect(await retry(jobId, "x", false)).toEqual({ ok: false, code: "retry_unconfirmed" });
    expect(await retry(newId("job"), "x")).toEqual({ ok: false, code: "not_found" });
  });

  test("jobs are listed newest first with their newest attempt, in pages, by state and customer", async () => {
    const first = await enqueue(store, "a");
    await failNext();
    const second = await enqueue(store, "b");
    const third = await enqueue(store, "c");
    await retry(first.jobId, "again");
    const all = { before: null, state: null, customer: null, limit: 10, scope: ALL_JOBS };
    const listed = await store.listJobs(all);
    expect(listed.map(({ job, newest }) => [job.id, newest.number])).toEqual([
      [third.jobId, 1],
      [second.jobId, 1],
      [first.jobId, 2],
    ]);
    const page = await store.listJobs({ ...all, before: third.jobId, limit: 1 });
    expect(page.map(({ job }) => job.id)).toEqual([second.jobId]);
    expect(await store.listJobs({ ...all, state: "failed" })).toEqual([]);
    expect(await store.listJobs({ ...all, state: "queued" })).toHaveLength(3);
    expect(await store.listJobs({ ...all, customer: "other" })).toEqual([]);
  });

  test("a list holds only what its reader may read", async () => {
    const jobs = [
      { ...aJob("a"), owner: "ann" },
      { ...aJob("b"), owner: "ben" },
      { ...aJob("c"), owner: "ann", customer: "other" },
    ];
    for (const job of jobs) {
      await store.createJob({ job, attempt: anAttempt(job), revision: null });
    }
    const owners = async (scope: Scope): Promise<string[]> => {
      const all = { before: null, state: null, customer: null, limit: 10 };
      const found = await store.listJobs({ ...all, scope });
      const runs = await store.listAttempts({ limit: 10, scope });
      expect(runs.map(({ job }) => job.id)).toEqual(found.map(({ job }) => job.id));
      return found.map(({ job }) => `${job.customer}/${job.owner}`).toSorted();
    };
    const ann = { principal: "ann", customers: [], ownIn: [] };
    expect(await owners(ann)).toEqual([]);
    expect(await owners({ ...ann, customers: ["acme"] })).toEqual(["acme/ann", "acme/ben"]);
    expect(await owners({ ...ann, ownIn: ["acme"] })).toEqual(["acme/ann"]);
    expect(await owners({ ...ann, ownIn: null })).toEqual(["acme/ann", "other/ann"]);
    expect(await owners({ ...ann, customers: ["other"], ownIn: ["acme"] })).toEqual([
      "acme/ann",
      "other/ann",
    ]);
    expect(await owners(ALL_JOBS)).toHaveLength(3);
  });

  test("a job that came as a spec uses up no revision", async () => {
    const job = aJob("spec");
    const created = await store.createJob({ job, attempt: anAttempt(job), revision: null });
    expect(created).toMatchObject({ ok: true, fresh: true });
    expect(await store.readAccepted({ customer: "acme", key: "spec" })).toMatchObject({
      job: { id: job.id },
    });
    expect(await store.readAccepted({ customer: "other", key: "spec" })).toBeNull();
  });

  test("an ended attempt leaves one usage row, in the order of the endings", async () => {
    await enqueue(store, "a");
    const ran = await failNext(2_500);
    const { id: waiting } = await enqueue(store, "b");
    await store.applyStep({ attemptId: waiting, command: { do: "cancel" }, now: NOW + 3_000 });
    const rows = await store.readUsage({ after: 0, limit: 10, customers: null });
    expect(rows).toMatchObject([
      { cursor: 1, attempt_id: ran, state: "failed", attempt_ms: 2_500, artifact_bytes: 70 },
      { cursor: 2, attempt_id: waiting, state: "cancelled", attempt_ms: 0, artifact_bytes: 0 },
    ]);
    expect(await store.readUsage({ after: 1, limit: 10, customers: null })).toHaveLength(1);
  });

  test("runners are remembered with what they hold; a drain is kept when they register again", async () => {
    const register = (id: string): Register => ({
      runner_instance_id: id,
      runner_kind: "process",
      job_types: ["ansible.playbook.run"],
      slots: 4,
      runtime: RUNTIME,
    });
    await store.saveRunner({ register: register("rnr_1"), name: "local", now: NOW });
    await store.saveRunner({ register: register("rnr_2"), name: "site-b", now: NOW + 1 });
    await enqueue(store, "a");
    const use = { runner: "rnr_1", claimId: newId("clm"), ttlMs: TTL_MS, now: NOW };
    await store.claimNext({ ...use, jobTypes: ["ansible.playbook.run"] });
    expect(await store.drainRunner({ id: "rnr_2" })).toBe(true);
    expect(await store.drainRunner({ id: "rnr_3" })).toBe(false);
    await store.saveRunner({ register: register("rnr_2"), name: "site-b", now: NOW + 2 });
    expect(await store.touchRunner({ id: "rnr_2", now: NOW + 3 })).toMatchObject({
      draining: true,
      seen: NOW + 3,
    });
    expect(await store.touchRunner({ id: "rnr_3", now: NOW })).toBeNull();
    const listed = await store.listRunners({ limit: 10 });
    expect(listed.map(({ name, held, draining }) => [name, held, draining])).toEqual([
      ["site-b", 0, true],
      ["local", 1, false],
    ]);
    const week = 7 * 24 * 3_600_000;
    await store.saveRunner({ register: register("rnr_4"), name: "new", now: NOW + 4 + week });
    expect(await store.listRunners({ limit: 10 })).toHaveLength(1);
  });
});
