import { expect, test } from "vitest";
import { ATTEMPT_STATES, isTerminal, mayMove, type AttemptState } from "@aim/contract";
import { waitingAttempt, type Attempt } from "./attempt.ts";
import { step, type Command, type Report } from "./step.ts";

const TTL = 1_000;
const NOW = 10_000;

function anAttempt(fields: Partial<Attempt> = {}): Attempt {
  const state: AttemptState = fields.state ?? "running";
  const leased = state !== "queued" && !isTerminal(state);
  const waiting = waitingAttempt({
    id: "run_1",
    jobId: "job_1",
    customer: "acme",
    number: 1,
    deadline: NOW + 60_000,
    graceMs: 5_000,
    created: 0,
  });
  return {
    ...waiting,
    state,
    epoch: leased ? 3 : 0,
    runner: leased ? "rnr_1" : null,
    claimId: leased ? "clm_1" : null,
    leaseExpires: leased ? NOW + TTL : null,
    everRunning: ["running", "finalizing", "cancelling"].includes(state),
    ...fields,
  };
}

const report = (fields: Partial<Report> = {}): Report => ({
  digest: "d1",
  verdict: "succeeded",
  effect: "complete",
  killConfirmed: true,
  ...fields,
});
const complete = (fields: Partial<Report> = {}, epoch = 3): Command => ({
  do: "complete",
  epoch,
  report: report(fields),
});
const claim: Command = { do: "claim", runner: "rnr_1", claimId: "clm_1", ttlMs: TTL };

test("a runner's moves follow the table from every state, and no others", () => {
  const moves = ["preparing", "running", "finalizing"] as const;
  for (const state of ATTEMPT_STATES.filter((name) => name !== "queued" && !isTerminal(name))) {
    for (const to of moves) {
      const made = step(anAttempt({ state }), { do: "move", epoch: 3, to }, NOW);
      const quiet = state === to || (state === "cancelling" && to === "finalizing");
      expect(made.ok, `${state} to ${to}`).toBe(quiet || mayMove(state, to));
      if (!quiet && made.ok) expect(made.changes.state).toBe(to);
      if (quiet) expect(made.changes).toEqual({});
    }
  }
});

test("a claim takes a queued attempt, raises its epoch, and is answered the same again", () => {
  const taken = step(anAttempt({ state: "queued" }), claim, NOW);
  expect(taken).toMatchObject({ ok: true, changes: { state: "leased", epoch: 1 } });
  expect(step(anAttempt({ state: "leased" }), claim, NOW)).toEqual({ ok: true, changes: {} });
  const foreign: Command = { ...claim, claimId: "clm_2" };
  expect(step(anAttempt({ state: "leased" }), foreign, NOW).ok).toBe(false);
});

test("every terminal state refuses every command and changes nothing", () => {
  const commands: Command[] = [
    claim,
    { do: "move", epoch: 3, to: "running" },
    { do: "heartbeat", epoch: 3, ttlMs: TTL },
    complete(),
    { do: "cancel" },
    { do: "reap" },
  ];
  for (const state of ATTEMPT_STATES.filter(isTerminal)) {
    for (const command of commands) {
      const made = step(anAttempt({ state, epoch: 3, terminalDigest: "other" }), command, NOW);
      expect(made.changes, `${state} ${command.do}`).toEqual({});
    }
  }
});

test("a completion repeated with the same digest is answered, another one is kept as late", () => {
  const ended = anAttempt({ state: "succeeded", epoch: 3, terminalDigest: "d1" });
  expect(step(ended, complete(), NOW)).toEqual({ ok: true, changes: {} });
  expect(step(ended, complete({ digest: "d2" }), NOW)).toMatchObject({
    ok: false,
    code: "terminal_conflict",
    late: true,
  });
});

test("another epoch is refused whatever it says", () => {
  const commands: Command[] = [
    { do: "move", epoch: 2, to: "finalizing" },
    { do: "heartbeat", epoch: 2, ttlMs: TTL },
    complete({}, 2),
  ];
  for (const command of commands) {
    expect(step(anAttempt(), command, NOW)).toMatchObject({
      ok: false,
      code: "epoch_stale",
      changes: {},
    });
  }
});

test("the call that finds a lease over makes the attempt lost, with unknown effect once it ran", () => {
  const late = NOW + TTL;
  const finalizing = anAttempt({ state: "finalizing" });
  expect(step(finalizing, complete(), late - 1).ok).toBe(true);
  expect(step(finalizing, complete(), late)).toMatchObject({
    ok: false,
    code: "lease_lost",
    late: true,
    changes: { state: "lost", effect: "unknown" },
  });
  const preparing = anAttempt({ state: "preparing", everRunning: false });
  expect(step(preparing, { do: "heartbeat", epoch: 3, ttlMs: TTL }, late)).toMatchObject({
    changes: { state: "lost", effect: "none" },
  });
});

test("a runner that falls silent after a cancel is judged as the plane is told to, and nothing is claimed of the effect", () => {
  const late = NOW + TTL;
  const cancelling = anAttempt({ state: "cancelling", cancelRequested: NOW - 10 });
  expect(step(cancelling, { do: "reap" }, late).changes).toMatchObject({
    state: "lost",
    failureCategory: "lease_lost",
  });
  const stopped = { state: "cancelled", effect: "unknown", failureCategory: "cancelled" };
  const reap: Command = { do: "reap", silentCancel: "cancelled" };
  expect(step(cancelling, reap, late).changes).toMatchObject(stopped);
  expect(step(cancelling, reap, late).changes.killConfirmed).toBeUndefined();
  expect(step(cancelling, reap, late - 1).changes).toEqual({});
  expect(step(cancelling, { ...complete(), silentCancel: "cancelled" }, late)).toMatchObject({
    ok: false,
    code: "lease_lost",
    late: true,
    changes: stopped,
  });
  // Nobody asked this one to stop.
  expect(step(anAttempt(), reap, late).changes.state).toBe("lost");
});

test("a heartbeat extends the lease, but never past the end that the attempt must have come to", () => {
  const beat: Command = { do: "heartbeat", epoch: 3, ttlMs: TTL };
  expect(step(anAttempt(), beat, NOW).changes.leaseExpires).toBe(NOW + TTL);
  const nearEnd = anAttempt({ deadline: NOW - 4_900, graceMs: 5_000 });
  expect(step(nearEnd, beat, NOW).changes.leaseExpires).toBe(NOW + TTL);
  const pastEnd = anAttempt({ deadline: NOW - 5_500, graceMs: 5_000 });
  expect(step(pastEnd, beat, NOW).changes.leaseExpires).toBe(NOW + TTL - 500);
});

test("cancelled and timed out need the proof that nothing is left", () => {
  const cancelling = anAttempt({ state: "cancelling" });
  expect(step(cancelling, complete({ verdict: "cancelled" }), NOW).ok).toBe(true);
  const unproved = complete({ verdict: "cancelled", killConfirmed: false });
  expect(step(cancelling, unproved, NOW).ok).toBe(false);
  const over = anAttempt({ deadline: NOW - 1 });
  expect(step(over, complete({ verdict: "timed_out" }), NOW).ok).toBe(true);
  expect(step(anAttempt(), complete({ verdict: "timed_out" }), NOW).ok).toBe(false);
});

test("nobody is cancelled who was not asked to stop", () => {
  expect(step(anAttempt(), complete({ verdict: "cancelled" }), NOW).ok).toBe(false);
});

test("a tool that ended by itself during a cancel is judged by what it did", () => {
  const cancelling = anAttempt({ state: "cancelling", cancelRequested: NOW - 10 });
  const made = step(cancelling, complete(), NOW);
  expect(made).toMatchObject({ ok: true, changes: { state: "succeeded", effect: "complete" } });
});

test("a cancel ends a waiting attempt at once and is the same twice", () => {
  expect(step(anAttempt({ state: "queued" }), { do: "cancel" }, NOW)).toMatchObject({
    changes: { state: "cancelled", effect: "none" },
  });
  expect(step(anAttempt(), { do: "cancel" }, NOW).changes.state).toBe("cancelling");
  expect(step(anAttempt({ state: "cancelling" }), { do: "cancel" }, NOW).changes).toEqual({});
});

test("a waiting attempt times out at its deadline and is never handed out after it", () => {
  const waiting = anAttempt({ state: "queued", deadline: NOW });
  expect(step(waiting, { do: "reap" }, NOW - 1).changes).toEqual({});
  expect(step(waiting, { do: "reap" }, NOW).changes.state).toBe("timed_out");
  expect(step(waiting, claim, NOW).ok).toBe(false);
});

test("a tool is not started after the deadline", () => {
  const late = anAttempt({ state: "preparing", deadline: NOW });
  expect(step(late, { do: "move", epoch: 3, to: "running" }, NOW).ok).toBe(false);
});
