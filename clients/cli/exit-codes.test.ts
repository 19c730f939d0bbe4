import {
  PROBLEM_CODES,
  PROBLEMS,
  type RunErrorCode,
  type RunResult,
  type TargetOutcome,
} from "@aim/contract";
import { expect, test } from "vitest";
import { exitOfClientFault, exitOfProblem, exitOfResult } from "./exit-codes.ts";
import { runResult } from "./testing/samples.ts";

type Row = [
  exit: number,
  state: RunResult["state"],
  error: RunErrorCode | null,
  ...outcomes: TargetOutcome[],
];

const TABLE: Row[] = [
  [0, "succeeded", null, "succeeded"],
  [0, "succeeded", null, "changed", "skipped", "not_reached"],
  [2, "failed", "hosts_failed", "failed", "succeeded"],
  [2, "failed", "hosts_failed", "succeeded"],
  [4, "failed", "hosts_unreachable", "unreachable", "succeeded"],
  [4, "failed", "hosts_unreachable", "succeeded"],
  [6, "failed", "hosts_failed", "failed", "unreachable"],
  [6, "failed", "hosts_unreachable", "failed", "unreachable"],
  [2, "succeeded", null, "failed"],
  [4, "succeeded", null, "unreachable"],
  [8, "succeeded", null, "unknown", "succeeded"],
  [8, "lost", "lost", "unknown"],
  [8, "lost", "lost", "failed"],
  [8, "failed", "invalid_event_stream", "succeeded"],
  [8, "failed", "event_limit", "failed"],
  [8, "failed", "event_bridge_unavailable", "not_reached"],
  [8, "failed", "event_bridge_incomplete", "failed", "unreachable"],
  [8, "cancelled", "cancelled", "unknown"],
  [1, "cancelled", "cancelled", "failed"],
  [1, "cancelled", "cancelled", "succeeded"],
  [1, "timed_out", "timed_out", "not_reached"],
  [1, "failed", "nothing_ran", "not_reached"],
  [1, "failed", "tool_failed", "succeeded"],
  [1, "failed", "sandbox_unavailable", "not_reached"],
  [1, "succeeded", "internal", "succeeded"],
  [1, "running", null, "succeeded"],
];

test.each(TABLE)("exit %i for %s, %s, %s %s", (...[exit, state, error, ...outcomes]) => {
  const hosts = Object.fromEntries(outcomes.map((outcome, index) => [`h${index}`, outcome]));
  const result = runResult({ state, outcomes: hosts, ...(error === null ? {} : { error }) });
  expect(exitOfResult(result)).toBe(exit);
});

test("every problem has an exit status of the list, and none says success", () => {
  const statuses = Object.fromEntries(
    PROBLEM_CODES.map((code) => [code, exitOfProblem({ code, status: PROBLEMS[code][0] })]),
  );
  expect(statuses).toMatchObject({
    malformed_json: 64,
    unknown_host: 64,
    not_found: 64,
    request_too_large: 64,
    secret_in_variables: 64,
    stale_revision: 65,
    revision_used: 65,
    revision_expired: 65,
    runner_unavailable: 69,
    shutting_down: 69,
    not_enabled: 77,
    internal: 1,
    state_conflict: 1,
  });
  expect(new Set(Object.values(statuses))).toEqual(new Set([1, 64, 65, 69, 77]));
});

test("a fault after the run was asked for is an unknown outcome", () => {
  expect(exitOfClientFault("stream_cut", true)).toBe(8);
  expect(exitOfClientFault("bad_line", true)).toBe(8);
  expect(exitOfClientFault("unreachable", false)).toBe(69);
  expect(exitOfClientFault("bad_line", false)).toBe(1);
});
