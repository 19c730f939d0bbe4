import { beforeEach, expect, test } from "vitest";
import { CallbackEventSchema, type Callback, type CallbackEvent } from "@aim/contract";
import { check } from "../../plane/http/check.ts";
import type { Store } from "../../plane/store/store.ts";
import type { ClaimedDelivery } from "../../plane/store/uses/deliveries.ts";
import { onBothStores } from "../harness/both-stores.ts";
import { aCompletion, aJob, anAttempt, NOW, saveRevision, TTL_MS } from "./samples.ts";

const HOLD_MS = 15_000;
const ALL = ["attempt.accepted", "attempt.started", "attempt.ended"] as const;

/** Throws for what the contract does not know. */
const eventOf = ({ body }: ClaimedDelivery): CallbackEvent =>
  check(CallbackEventSchema, JSON.parse(body));

onBothStores("the outbox", (fresh) => {
  let store: Store;
  beforeEach(() => {
    store = fresh();
  });

  const callback = (...events: Callback["events"]): Callback => ({
    url: "https://receiver.example/hook",
    events: events.length === 0 ? [...ALL] : events,
  });

  async function accept(key: string, ...callbacks: readonly Callback[]) {
    await saveRevision(store, key);
    const job = aJob(key);
    const spec = { ...job.spec, operation_id: "op:1", callbacks: [...callbacks] };
    const attempt = anAttempt(job);
    const created = await store.createJob({ job: { ...job, spec }, attempt, revision: key });
    if (!created.ok) throw new Error(created.code);
    return created;
  }

  async function start(attemptId: string) {
    const claimed = await store.claimNext({
      runner: "rnr_1",
      claimId: `clm_${attemptId}`,
      ttlMs: TTL_MS,
      jobTypes: ["ansible.playbook.run"],
      now: NOW,
    });
    expect(claimed?.attempt.id).toBe(attemptId);
    const told = [];
    for (const to of ["preparing", "running", "finalizing"] as const) {
      const command = { do: "move", epoch: 1, to } as const;
      told.push((await store.applyStep({ attemptId, command, now: NOW }))?.told);
    }
    return told;
  }

  const complete = (attemptId: string) =>
    store.applyStep({
      attemptId,
      now: NOW,
      command: {
        do: "complete",
        epoch: 1,
        report: { digest: "d", verdict: "succeeded", effect: "complete", killConfirmed: true },
      },
      completion: aCompletion(1),
      manifestDigest: "m".repeat(64),
    });

  const take = (now = NOW, claimedBy = "one", limit = 16) =>
    store.claimDeliveries({ claimedBy, now, until: now + HOLD_MS, limit });

  const settle = (delivery: ClaimedDelivery, nextTry: number | null | "taken" = "taken") =>
    store.settleDelivery({
      delivery,
      status: nextTry === "taken" ? 204 : 500,
      error: nextTry === "taken" ? null : "refused",
      nextTry: nextTry === "taken" ? null : nextTry,
    });

  async function takeOne(now = NOW, claimedBy = "one"): Promise<ClaimedDelivery> {
    const [delivery, ...more] = await take(now, claimedBy);
    if (delivery === undefined || more.length > 0) throw new Error("not exactly one");
    return delivery;
  }

  test("a job's callbacks are told of its life, numbered from 1, in events of the contract", async () => {
    const { attempt, told } = await accept("a", callback());
    expect([told, ...(await start(attempt.id))]).toEqual([true, false, true, false]);
    expect(await complete(attempt.id)).toMatchObject({ told: true });
    expect(await complete(attempt.id)).toMatchObject({ told: false });
    const events = [];
    for (const _ of ALL) {
      const delivery = await takeOne();
      events.push(eventOf(delivery));
      await settle(delivery);
    }
    expect(await take()).toEqual([]);
    expect(
      events.map(({ type, sequence, data }) => [type, sequence, data.state, data.effect]),
    ).toEqual([
      ["aim.attempt.accepted.v1", "1", "queued", "none"],
      ["aim.attempt.started.v1", "2", "running", "none"],
      ["aim.attempt.ended.v1", "3", "succeeded", "complete"],
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
    expect(events[2]).toMatchObject({
      subject: attempt.id,
      data: { run_id: attempt.id, job_id: attempt.jobId, operation_id: "op:1", error: null },
    });
  });

  test("a job without callbacks tells nobody, and one that ends before its start tells just that", async () => {
    const silent = await accept("a");
    expect(silent.told).toBe(false);
    await store.applyStep({ attemptId: silent.attempt.id, command: { do: "cancel" }, now: NOW });
    expect(await store.listDeliveries({ state: null, limit: 10 })).toEqual([]);
    const { attempt } = await accept("b", callback("attempt.ended"));
    expect(await take()).toEqual([]);
    await store.applyStep({ attemptId: attempt.id, command: { do: "reap" }, now: NOW + 60_000 });
    expect(eventOf(await takeOne(NOW + 60_000))).toMatchObject({
      type: "aim.attempt.ended.v1",
      sequence: "2",
      data: { state: "timed_out", error: "timed_out", failure_category: "timeout" },
    });
  });

  test("a job that was refused tells nobody", async () => {
    await accept("a", callback());
    const job = aJob("another");
    const spec = { ...job.spec, callbacks: [callback()] };
    const use = { job: { ...job, spec }, attempt: anAttempt(job), revision: "a" };
    await expect(store.createJob(use)).rejects.toMatchObject({ code: "revision_used" });
    expect(await store.listDeliveries({ state: null, limit: 10 })).toHaveLength(1);
  });

  test("what one plane has taken no other takes until the claim is over; then its late word is worth nothing", async () => {
    await accept("a", callback());
    const first = await takeOne(NOW, "one");
    expect(await take(NOW + HOLD_MS - 1, "two")).toEqual([]);
    expect(await store.nextDeliveryAt()).toBe(NOW + HOLD_MS);
    const second = await takeOne(NOW + HOLD_MS, "two");
    expect(second.body).toBe(first.body);
    expect(await settle(first, NOW + 99_000)).toBe(false);
    expect(await settle(second, NOW + 20_000)).toBe(true);
    expect(await settle(second, NOW + 30_000)).toBe(false);
    expect(await store.nextDeliveryAt()).toBe(NOW + 20_000);
    // A success is a fact, whoever holds the claim by now.
    await takeOne(NOW + 20_000, "three");
    expect(await settle(first)).toBe(true);
    expect(await store.listDeliveries({ state: "delivered", limit: 10 })).toMatchObject([
      { tries: 2, lastStatus: 204, lastError: null },
    ]);
  });

  test("many planes at once take each delivery once", async () => {
    for (let key = 0; key < 12; key += 1) await accept(`k${key}`, callback(), callback());
    let taken = (await Promise.all([1, 2, 3, 4, 5, 6].map((n) => take(NOW, `p${n}`, 4)))).flat();
    // One that met another may come back with less; whoever asks again gets the rest.
    taken = [...taken, ...(await take(NOW, "last", 100))];
    const names = taken.map(({ eventId, callbackIndex }) => `${eventId} ${callbackIndex}`);
    expect([taken.length, new Set(names).size]).toEqual([24, 24]);
  });

  test("each callback hears in order, and a slow one holds up no other", async () => {
    const { attempt } = await accept("a", callback(), callback());
    await start(attempt.id);
    const [slow, quick] = await take();
    if (slow === undefined || quick === undefined) throw new Error("not two");
    await settle(slow, NOW + 60_000);
    await settle(quick);
    const next = await takeOne();
    expect([next.callbackIndex, eventOf(next).sequence]).toEqual([quick.callbackIndex, "2"]);
    await settle(next);
    expect(await store.nextDeliveryAt()).toBe(NOW + 60_000);
    const again = await takeOne(NOW + 60_000);
    expect([again.callbackIndex, again.body]).toEqual([slow.callbackIndex, slow.body]);
    // Given up is out of the way, too.
    await settle(again, null);
    expect(eventOf(await takeOne(NOW + 60_000)).sequence).toBe("2");
  });

  test("what was given up is listed and can be sent once more, with its time before it", async () => {
    await accept("a", callback());
    const delivery = await takeOne();
    const which = { eventId: delivery.eventId, callbackIndex: 0, now: NOW + 5_000 };
    expect(await store.replayDelivery(which)).toBe("state_conflict");
    await settle(delivery, null);
    expect(await store.nextDeliveryAt()).toBeNull();
    expect(await store.listDeliveries({ state: "dead", limit: 10 })).toMatchObject([
      { eventId: delivery.eventId, tries: 1, lastStatus: 500, lastError: "refused" },
    ]);
    expect(await store.replayDelivery({ ...which, callbackIndex: 1 })).toBe("not_found");
    expect(await store.replayDelivery(which)).toBeNull();
    expect(await store.replayDelivery(which)).toBe("state_conflict");
    const again = await takeOne(NOW + 5_000);
    expect(again).toMatchObject({ body: delivery.body, tries: 0, since: NOW + 5_000 });
    expect(await store.listDeliveries({ state: "dead", limit: 10 })).toEqual([]);
  });
});
