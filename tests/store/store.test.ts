import { beforeEach, expect, test } from "vitest";
import type { Store } from "../../plane/store/store.ts";
import { onBothStores } from "../harness/both-stores.ts";
import {
  aCompletion,
  aJob,
  anAttempt,
  anEvent,
  enqueue,
  NOW,
  saveRevision,
  TTL_MS,
  ALL_JOBS,
} from "./samples.ts";

onBothStores("the store", (fresh) => {
  let store: Store;
  beforeEach(() => {
    store = fresh();
  });

  const claim = (claimId: string, now = NOW) =>
    store.claimNext({
      runner: "rnr_1",
      claimId,
      ttlMs: TTL_MS,
      jobTypes: ["ansible.playbook.run"],
      now,
    });

  async function running(key: string) {
    await enqueue(store, key);
    const claimed = await claim(`clm_${key}`);
    if (claimed === null) throw new Error("nothing to claim");
    const { id: attemptId, epoch } = claimed.attempt;
    for (const to of ["preparing", "running", "finalizing"] as const) {
      await store.applyStep({ attemptId, command: { do: "move", epoch, to }, now: NOW });
    }
    return claimed.attempt;
  }

  const completion = (attemptId: string, digest: string, now: number) =>
    ({
      attemptId,
      now,
      command: {
        do: "complete",
        epoch: 1,
        report: { digest, verdict: "succeeded", effect: "complete", killConfirmed: true },
      },
      completion: aCompletion(1),
      manifestDigest: "m".repeat(64),
    }) as const;
  const complete = (attemptId: string, digest: string, now = NOW) =>
    store.applyStep(completion(attemptId, digest, now));

  test("attempts are handed out oldest first, each once, and a repeated claim gets the same one", async () => {
    const first = await enqueue(store, "a");
    const second = await enqueue(store, "b");
    const one = await claim("clm_1");
    const again = await claim("clm_1");
    const two = await claim("clm_2");
    expect([one?.attempt.id, again?.attempt.id]).toEqual([first.id, first.id]);
    expect(again?.attempt.epoch).toBe(1);
    expect(two?.attempt.id).toBe(second.id);
    expect(await claim("clm_3")).toBeNull();
  });

  test("a claim that comes many times at the same moment gets one attempt", async () => {
    for (let key = 0; key < 8; key += 1) await enqueue(store, `k${key}`);
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim("clm_same")));
    const again = await claim("clm_same");
    const ids = new Set(claims.flatMap((claimed) => claimed?.attempt.id ?? []));
    expect([...ids]).toEqual([again?.attempt.id]);
  });

  test("claims of one batch each get their own, and those that come too many get nothing", async () => {
    const waiting = [await enqueue(store, "a"), await enqueue(store, "b")];
    const first = await claim("clm_1");
    const answers = await store.claimWaiting({
      claims: ["clm_1", "clm_2", "clm_3"].map((claimId) => ({ runner: "rnr_1", claimId })),
      ttlMs: TTL_MS,
      jobTypes: ["ansible.playbook.run"],
      now: NOW,
    });
    expect(first?.attempt.id).toBe(waiting[0]?.id);
    expect(answers.map((claimed) => claimed?.attempt.id ?? null)).toEqual([
      waiting[0]?.id,
      waiting[1]?.id,
      null,
    ]);
    const { attempt } = (await store.readAttempt({ attemptId: waiting[1]?.id ?? "" })) ?? {};
    expect(attempt).toMatchObject({ state: "leased", epoch: 1, claimId: "clm_2", started: NOW });
  });

  test("many claims at once never hand one attempt to two", async () => {
    for (let key = 0; key < 20; key += 1) await enqueue(store, `k${key}`);
    const claims = await Promise.all(
      Array.from({ length: 40 }, (_, index) => claim(`clm_${index}`)),
    );
    let ids = claims.flatMap((claimed) => claimed?.attempt.id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    // A claim that met another one may come back empty; whoever asks again gets the rest.
    for (let index = 40; ids.length < 20; index += 1) {
      const claimed = await claim(`clm_${index}`);
      if (claimed === null) break;
      ids = [...ids, claimed.attempt.id];
    }
    expect(new Set(ids).size).toBe(20);
  });

  test("one idempotency key makes one job, whoever asks at the same time", async () => {
    const asked = await Promise.all(
      Array.from({ length: 16 }, async (_, index) => {
        await saveRevision(store, `r${index}`);
        const job = aJob("same");
        return store.createJob({ job, attempt: anAttempt(job), revision: `r${index}` });
      }),
    );
    const ids = asked.map((created) => (created.ok ? created.attempt.id : created.code));
    expect(new Set(ids).size).toBe(1);
    await saveRevision(store, "other");
    const other = { ...aJob("same"), requestDigest: "b".repeat(64) };
    expect(
      await store.createJob({ job: other, attempt: anAttempt(other), revision: "other" }),
    ).toEqual({ ok: false, code: "idempotency_mismatch" });
  });

  test("a revision is used once, and a refused use leaves no job", async () => {
    await enqueue(store, "a");
    const job = aJob("another key");
    const use = { job, attempt: anAttempt(job), revision: "a" };
    await expect(store.createJob(use)).rejects.toMatchObject({ code: "revision_used" });
    expect(await store.listAttempts({ limit: 10, scope: ALL_JOBS })).toHaveLength(1);
  });

  test("events are stored once, in order, for the holder of the lease only", async () => {
    const { id: attemptId } = await running("a");
    const attempt = { ...(await store.readAttempt({ attemptId }))?.attempt } as never;
    const events = [anEvent(attempt, 1), anEvent(attempt, 2)];
    const batch = { attemptId, epoch: 1, events, lost: 0, now: NOW };
    expect(await store.appendEvents(batch)).toBeNull();
    expect(await store.appendEvents(batch)).toBeNull();
    expect(await store.appendEvents({ ...batch, epoch: 2 })).toBe("epoch_stale");
    expect(await store.appendEvents({ ...batch, now: NOW + TTL_MS })).toBe("lease_lost");
    const page = await store.readEvents({ attemptId, after: 1, limit: 10 });
    expect(page.map(({ sequence }) => sequence)).toEqual([2]);
  });

  test("a completion is answered the same again, another one is kept as late and changes nothing", async () => {
    const { id } = await running("a");
    const done = await complete(id, "d1");
    expect(done).toMatchObject({ code: null, attempt: { state: "succeeded" } });
    expect(await complete(id, "d1")).toMatchObject({ code: null, moved: false });
    expect(await complete(id, "d2")).toMatchObject({ code: "terminal_conflict", moved: false });
    const events = await store.readEvents({ attemptId: id, after: 0, limit: 10 });
    expect(events.map(({ event }) => (JSON.parse(event) as { kind: string }).kind)).toEqual([
      "result",
    ]);
    expect(await store.readManifest({ attemptId: id })).toContain("manifest_version");
  });

  test("an ended attempt with a manifest is unsealed until its first seal, which stands", async () => {
    const [one, two, live] = [await running("a"), await running("b"), await running("c")];
    for (const { id } of [one, two]) await complete(id, "d1");
    const ids = [one.id, two.id].toSorted();
    expect(await store.unsealed({ after: "", limit: 10 })).toEqual(ids);
    expect(await store.unsealed({ after: "", limit: 1 })).toEqual(ids.slice(0, 1));
    expect(await store.unsealed({ after: ids[0] ?? "", limit: 10 })).toEqual(ids.slice(1));
    expect(await store.readSeal({ attemptId: one.id })).toBeNull();
    const seal = {
      attemptId: one.id,
      customer: one.customer,
      manifestDigest: "m".repeat(64),
      envelope: '{"first":1}',
      now: NOW + 0.5,
    };
    expect(await store.saveSeal(seal)).toBe('{"first":1}');
    const rivals = [2, 3].map((n) => store.saveSeal({ ...seal, envelope: `{"other":${n}}` }));
    expect(await Promise.all(rivals)).toEqual(['{"first":1}', '{"first":1}']);
    expect(await store.readSeal({ attemptId: one.id })).toBe('{"first":1}');
    expect(await store.unsealed({ after: "", limit: 10 })).toEqual([two.id]);
    await expect(store.saveSeal({ ...seal, attemptId: "run_none" })).rejects.toThrow();
    expect(await store.readSeal({ attemptId: live.id })).toBeNull();
  });

  test("a completion after the lease makes the attempt lost in the same transaction", async () => {
    const { id } = await running("a");
    const late = await complete(id, "d1", NOW + TTL_MS);
    expect(late).toMatchObject({
      code: "lease_lost",
      attempt: { state: "lost", effect: "unknown" },
    });
    expect(
      (await store.readAttempt({ attemptId: id }))?.attempt.result?.target_summary.unknown,
    ).toBe(2);
  });

  test("a report of a cancelled attempt that comes after its lease counts for nothing, whatever the attempt becomes", async () => {
    const { id } = await running("a");
    await store.applyStep({ attemptId: id, command: { do: "cancel" }, now: NOW });
    const report = completion(id, "d1", NOW + TTL_MS);
    const command = { ...report.command, silentCancel: "cancelled" } as const;
    const late = await store.applyStep({ ...report, command });
    expect(late).toMatchObject({
      code: "lease_lost",
      attempt: {
        state: "cancelled",
        effect: "unknown",
        killConfirmed: false,
        manifestDigest: null,
      },
    });
    const kept = await store.readAttempt({ attemptId: id });
    expect(kept?.attempt.result).toMatchObject({
      evidence: "none",
      error: { code: "cancelled" },
      target_summary: { unknown: 2 },
    });
    expect(await store.brokenInvariants()).toEqual([]);
  });

  test("those that nobody holds end together, each as its own state asks", async () => {
    const held = await running("held");
    const stopped = await running("stopped");
    await store.applyStep({ attemptId: stopped.id, command: { do: "cancel" }, now: NOW });
    const { id: waits, deadline } = await enqueue(store, "waits");
    const attemptIds = [held.id, stopped.id, waits, `run_${"z".repeat(26)}`];
    const reap = { attemptIds, now: deadline, silentCancel: "cancelled" } as const;
    const ends = await store.reapAttempts(reap);
    expect(new Map(ends.map(({ attempt }) => [attempt.id, attempt.state]))).toEqual(
      new Map([
        [held.id, "lost"],
        [stopped.id, "cancelled"],
        [waits, "timed_out"],
      ]),
    );
    expect(ends.every(({ moved }) => moved)).toBe(true);
    expect((await store.reapAttempts(reap)).some(({ moved }) => moved)).toBe(false);
    expect(await store.liveAttempts()).toEqual([]);
  });

  test("heartbeats extend the lease, are appended once, and never change", async () => {
    const { id: attemptId } = await running("a");
    const heartbeat = {
      epoch: 1,
      seq: 1,
      phase: "running" as const,
      last_event_sequence: 0,
      events_lost: 0,
    };
    const beat = { attemptId, heartbeat, ttlMs: TTL_MS, now: NOW + 1_000 };
    const extended = await store.putHeartbeat(beat);
    expect(extended?.attempt.leaseExpires).toBe(NOW + 1_000 + TTL_MS);
    expect((await store.putHeartbeat(beat))?.code).toBeNull();
    expect((await store.putHeartbeat({ ...beat, now: NOW + 2 * TTL_MS }))?.code).toBe("lease_lost");
  });

  test("after a restart every lease gets one ttl", async () => {
    const { id } = await running("a");
    await store.grantGrace({ now: NOW + 3_600_000, ttlMs: TTL_MS });
    expect(await store.liveAttempts()).toEqual([id]);
    const live = await store.readAttempt({ attemptId: id });
    expect(live?.attempt.leaseExpires).toBe(NOW + 3_600_000 + TTL_MS);
  });

  test("what is due is what waits past its deadline or is held past its lease, and nothing else", async () => {
    const held = await running("held");
    const { id, deadline } = await enqueue(store, "waits");
    expect(await store.dueAttempts({ now: NOW + TTL_MS - 1 })).toEqual([]);
    expect(await store.dueAttempts({ now: NOW + TTL_MS })).toEqual([held.id]);
    expect(new Set(await store.dueAttempts({ now: deadline }))).toEqual(new Set([held.id, id]));
    await store.applyStep({ attemptId: id, command: { do: "cancel" }, now: NOW });
    expect(await store.dueAttempts({ now: deadline })).toEqual([held.id]);
  });

  test("usage is numbered when it is read, in one order that never changes", async () => {
    const first = await running("a");
    const second = await running("b");
    await complete(second.id, "d".repeat(64), NOW + 1);
    const [only] = await store.readUsage({ after: 0, limit: 10, customers: null });
    expect(only).toMatchObject({ cursor: 1, attempt_id: second.id, state: "succeeded" });
    // It ended before, and was not there when the other one was read.
    await complete(first.id, "e".repeat(64), NOW);
    const read = async (after: number) =>
      (await store.readUsage({ after, limit: 10, customers: null })).map((row) => [
        row.cursor,
        row.attempt_id,
      ]);
    expect(await read(1)).toEqual([[2, first.id]]);
    expect(await read(0)).toEqual([
      [1, second.id],
      [2, first.id],
    ]);
  });

  test("the latest moment, projects and acceptances are remembered", async () => {
    expect(await store.readMoment()).toBe(0);
    await store.saveMoment({ now: 5 });
    await store.saveMoment({ now: 7 });
    expect(await store.readMoment()).toBe(7);
    await store.saveProject({ id: "p", customer: "local", definition: "{}" });
    expect(await store.readProject({ id: "p", customer: "local" })).toBe("{}");
    expect(await store.readProject({ id: "p", customer: "other" })).toBeNull();
    const controller = { ansibleCore: "2.19.11", callbackDigest: "c" };
    expect(await store.isAccepted(controller)).toBe(false);
    await store.saveAcceptance({ ...controller, customer: "", passed: 1, now: 1 });
    expect(await store.isAccepted(controller)).toBe(true);
    expect(await store.isAccepted({ ...controller, callbackDigest: "d" })).toBe(false);
  });
});
