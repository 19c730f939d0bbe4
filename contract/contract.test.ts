import { Compile } from "typebox/compile";
import { expect, test } from "vitest";
import * as contract from "./index.ts";

test("every state has its place in the table and terminal states have no way out", () => {
  const terminal = ["succeeded", "failed", "cancelled", "timed_out", "lost"];
  expect(contract.ATTEMPT_STATES.filter(contract.isTerminal)).toEqual(terminal);
  const states = Compile(contract.AttemptStateSchema);
  expect(contract.ATTEMPT_STATES.every((state) => states.Check(state))).toBe(true);
  expect(states.Check("running ")).toBe(false);
});

test("every problem has a status that HTTP knows and a sentence of its own", () => {
  const sentences = contract.PROBLEM_CODES.map((code) => new contract.AimError(code).message);
  expect(new Set(sentences).size).toBe(sentences.length);
  for (const code of contract.PROBLEM_CODES) {
    expect(new contract.AimError(code).status).toBeGreaterThanOrEqual(400);
  }
});

test("the capability fragment is the one of the source text", () => {
  expect(contract.executionProgress("controller_acceptance_required")).toEqual({
    modes: ["summary", "detail"],
    default: "summary",
    request_field: "progress_mode",
    detail_schema: "play_task_host_v1",
    detail_event_kinds: [
      "play_started",
      "play_skipped",
      "play_stopped",
      "task_started",
      "host_result",
      "task_retry",
      "task_async_poll",
      "host_recap",
    ],
    static_source_labels_only: true,
    raw_output: false,
    error_policy: "fixed_diagnostic_hints",
    qualification: "controller_acceptance_required",
  });
});

test("a path is filled with escaped values", () => {
  expect(contract.pathOf("seal", { run_id: "a/b" })).toBe("/v1/runs/a%2Fb/seal");
});

test("an event with one field more, less or of another type is no event", () => {
  const events = Compile(contract.RunEventSchema);
  const event = {
    event_version: "1.0",
    run_id: `run_${"0".repeat(26)}`,
    sequence: 1,
    timestamp: "2026-01-01T00:00:00.000000Z",
    kind: "stage",
    stage: "running",
  };
  expect(events.Check(event)).toBe(true);
  expect(events.Check({ ...event, stdout: "x" })).toBe(false);
  expect(events.Check({ ...event, sequence: 0 })).toBe(false);
  expect(events.Check({ ...event, timestamp: "2026-01-01T00:00:00Z" })).toBe(false);
  expect(events.Check({ ...event, stage: undefined })).toBe(false);
});
