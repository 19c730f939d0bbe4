import { expect, test } from "vitest";
import { stopThatCounts } from "./accounting.ts";
import { hello, INTACT, play, readFrames, recap, result, task } from "./testing/streams.ts";
import { checkOperationResult } from "./operation-result.ts";

const changedResult = { status: "changed", changed: true };

test("hosts without a recap row were not reached when the run ended properly", () => {
  const { outcome } = readFrames(INTACT, { hosts: ["left", "right", "third"] });
  expect(outcome.targets.at(-1)).toEqual({ host: "third", outcome: "not_reached", counts: null });
  expect(outcome.verdict).toBe("succeeded");
});

test("hosts without a recap row are unknown when the stream broke", () => {
  const { outcome } = readFrames(INTACT.slice(0, 6));
  expect(outcome.target_summary).toMatchObject({ requested: 2, unknown: 2 });
  expect(outcome.effect).toBe("unknown");
});

test("an exit status that no row explains makes clean rows unknown", () => {
  const frames = [
    hello,
    play(1),
    task(1),
    result(1, "left", changedResult),
    result(1, "left", { status: "failed", hint: "task_failed" }),
    recap("left", { ok: 1, changed: 1, rescued: 1 }),
    { k: "stats", hosts: 1 },
    { k: "end", frames: 8 },
  ];
  const { outcome } = readFrames(frames, { exitCode: 2 });
  expect(outcome.error?.code).toBe("tool_failed");
  expect(outcome.targets.map(({ outcome: of }) => of)).toEqual(["unknown", "not_reached"]);
});

test("failures and unreachable hosts are failures even when Ansible ends with 0", () => {
  const frames = [
    hello,
    play(1),
    task(1),
    result(1, "left", { status: "failed", hint: "task_failed" }),
    result(1, "right", { status: "unreachable", hint: "connection_refused" }),
    recap("left", { failures: 1 }),
    recap("right", { unreachable: 1 }),
    { k: "stats", hosts: 2 },
    { k: "end", frames: 9 },
  ];
  const { outcome } = readFrames(frames);
  expect(outcome.verdict).toBe("failed");
  expect(outcome.targets.map(({ outcome: of }) => of)).toEqual(["failed", "unreachable"]);
});

test("a host whose every task was skipped is skipped, not succeeded", () => {
  const frames = [
    hello,
    play(1),
    task(1),
    result(1, "left", { status: "skipped" }),
    recap("left", { skipped: 1 }),
    { k: "stats", hosts: 1 },
    { k: "end", frames: 7 },
  ];
  expect(readFrames(frames, { hosts: ["left"] }).outcome.targets[0]?.outcome).toBe("skipped");
});

test("a stop that came too late leaves the verdict to what happened", () => {
  expect(readFrames(INTACT, { stop: "cancelled" }).outcome.verdict).toBe("succeeded");
  const cut = readFrames(INTACT.slice(0, 6), { stop: "cancelled", exitCode: null }).outcome;
  expect(cut.verdict).toBe("cancelled");
  expect(cut.failure_category).toBe("cancelled");
  const late = readFrames(INTACT.slice(0, 6), { stop: "timed_out", exitCode: null }).outcome;
  expect(late.verdict).toBe("timed_out");
});

test("changes are counted by whether their task can know them", () => {
  expect(readFrames(INTACT, { knows: true }).outcome.change_evidence).toEqual([
    { host: "left", trusted: 2, unverified: 0 },
    { host: "right", trusted: 2, unverified: 0 },
  ]);
  expect(readFrames(INTACT, { knows: false }).outcome.change_evidence[0]?.unverified).toBe(2);
});

const declared = { key: "report", schema: { type: "object", required: ["kernel"] } };
const none = (): boolean => false;

test.for([
  ["nothing declared", null, null, { ok: true, value: null }],
  ["declared and set", declared, `{"kernel":"6"}`, { ok: true, value: { kernel: "6" } }],
  ["declared and missing", declared, null, { ok: false, code: "operation_result_missing" }],
  ["not an object", declared, `[1]`, { ok: false, code: "operation_result_invalid" }],
  ["not of its schema", declared, `{"other":1}`, { ok: false, code: "operation_result_invalid" }],
  ["not JSON", declared, `{`, { ok: false, code: "operation_result_invalid" }],
] as const)(
  "an operation result that is %s is judged so",
  ([, operation_result, data, expected]) => {
    expect(checkOperationResult({ operation_result }, { data }, none)).toEqual(expected);
  },
);

test("an operation result of 64 KiB is returned and one byte more is not", () => {
  const sized = (size: number) => `{"kernel":"${"x".repeat(size - 13)}"}`;
  const judge = (data: string) =>
    checkOperationResult({ operation_result: declared }, { data }, none).ok;
  expect(judge(sized(65_536))).toBe(true);
  expect(judge(sized(65_537))).toBe(false);
});

test("an operation result with a credential in a value or a name is withheld", () => {
  const holds = (text: string) => text.includes("swordfish");
  for (const data of [`{"kernel":"a swordfish"}`, `{"kernel":1,"swordfish":2}`]) {
    expect(checkOperationResult({ operation_result: declared }, { data }, holds).ok).toBe(false);
  }
});

test("a stop counts only where it reached the tool before its end", () => {
  expect(stopThatCounts("exited", "cancelled")).toBeNull();
  expect(stopThatCounts("stopped", "cancelled")).toBe("cancelled");
  expect(stopThatCounts("deadline", null)).toBe("timed_out");
  expect(stopThatCounts("sandbox_died", null)).toBeNull();
  expect(stopThatCounts("lease", "cancelled")).toBe("cancelled");
});
