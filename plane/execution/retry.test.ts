import { expect, test } from "vitest";
import { ATTEMPT_STATES, isTerminal, type JobSpec } from "@aim/contract";
import { waitingAttempt, type Attempt, type Job } from "./attempt.ts";
import { mayRetry, retryOf, SKEW_MS } from "./retry.ts";

const ENDED = 5_000;

function jobOf(job_type: string): Job {
  const spec = { job_type } as JobSpec;
  return { id: "job_1", spec } as Job;
}

function ended(fields: Partial<Attempt>): Attempt {
  const waiting = waitingAttempt({
    id: "run_1",
    jobId: "job_1",
    customer: "acme",
    number: 1,
    deadline: 60_000,
    graceMs: 0,
    created: 0,
  });
  return { ...waiting, state: "failed", ended: ENDED, killConfirmed: true, ...fields };
}

const playbook = jobOf("ansible.playbook.run");

test("an attempt that lives has no hint, and no other one beside it", () => {
  for (const state of ATTEMPT_STATES.filter((name) => !isTerminal(name))) {
    const live = ended({ state, ended: null });
    expect(retryOf(live, playbook)).toBeNull();
    expect(mayRetry({ last: live, job: playbook, confirmed: true, now: 1e9 })).toBe(
      "state_conflict",
    );
  }
});

test.for([
  ["what succeeded is not done again", { state: "succeeded", effect: "complete" }, "no"],
  ["what never started is safe", { effect: "none" }, "yes"],
  ["what failed on its targets needs a look", { effect: "complete" }, "ask"],
  ["what nobody knows needs a look", { state: "lost", effect: "unknown" }, "ask"],
  ["what policy refused is refused again", { failureCategory: "policy_denied" }, "no"],
] as const)("%s", ([, fields, retryable]) => {
  expect(retryOf(ended(fields), playbook)?.retryable).toBe(retryable);
});

test("a job type that changes nothing and may be repeated needs no confirmation", () => {
  const lost = ended({ state: "lost", effect: "unknown", killConfirmed: false });
  expect(retryOf(lost, jobOf("ansible.inventory.validate"))).toMatchObject({
    retryable: "yes",
    reason: "dry_run",
  });
});

test("after a lost lease a retry waits for the former holder's clock", () => {
  const lost = ended({ state: "lost", effect: "unknown", killConfirmed: false });
  const wish = { last: lost, job: playbook, confirmed: true };
  expect(mayRetry({ ...wish, now: ENDED + SKEW_MS - 1 })).toBe("retry_too_early");
  expect(mayRetry({ ...wish, now: ENDED + SKEW_MS })).toBeNull();
});

test("a confirmation is needed where the hint says so, and helps against no refusal", () => {
  const unknown = { last: ended({ effect: "unknown" }), job: playbook, now: 1e9 };
  expect(mayRetry({ ...unknown, confirmed: false })).toBe("retry_unconfirmed");
  expect(mayRetry({ ...unknown, confirmed: true })).toBeNull();
  const done = { last: ended({ state: "succeeded", effect: "complete" }), job: playbook, now: 1e9 };
  expect(mayRetry({ ...done, confirmed: true })).toBe("retry_refused");
});
