import { expect, test } from "vitest";
import {
  hello,
  INTACT,
  play,
  readFrames,
  recap,
  result,
  task,
  type FrameFields,
} from "./testing/streams.ts";

const end = (frames: readonly FrameFields[], hosts: number): FrameFields[] => [
  ...frames,
  { k: "stats", hosts },
  { k: "end", frames: frames.length + 2 },
];
const failure = { status: "failed", hint: "task_failed" };

test("summary mode sends stages of progress without a single name", () => {
  const { events, outcome } = readFrames(INTACT, { mode: "summary" });
  expect(new Set(events.map(({ kind }) => kind))).toEqual(new Set(["progress", "stats"]));
  expect(JSON.stringify(events)).not.toMatch(/left|right|Task/);
  expect(outcome.targets).toHaveLength(2);
});

test("a sensitive result keeps its status and loses its reason", () => {
  const { events } = readFrames([
    hello,
    play(1),
    task(1),
    result(1, "left", { ...failure, hint: "permission_denied", cause: "disk_full", hidden: true }),
  ]);
  const [found] = events.filter(({ kind }) => kind === "host_result");
  expect(found).toMatchObject({
    status: "failed",
    details_redacted: true,
    error: { code: "details_withheld" },
  });
  expect(JSON.stringify(found)).not.toContain("disk_full");
});

test("a result that is sensitive only at run time withholds later labels of its task", () => {
  const again = task(2, { at: task(1)["at"] });
  const { events } = readFrames([
    hello,
    play(1),
    task(1),
    result(1, "left", { hidden: true }),
    again,
    task(3),
  ]);
  const labels = events.flatMap((event) => (event.kind === "task_started" ? [event.label] : []));
  expect(labels).toEqual(["Task 1", "Withheld name", "Task 3"]);
});

test("hidden plays, tasks and handlers never show their names", () => {
  const { events } = readFrames([
    hello,
    { ...play(1, "Secret play"), hidden: true },
    task(1, { name: { is: "text", text: "Secret task" }, hidden: true, handler: true }),
  ]);
  expect(JSON.stringify(events)).not.toContain("Secret");
});

test("hosts outside the review stay separate and nameless", () => {
  const { events, outcome } = readFrames(
    end(
      [
        hello,
        play(1),
        task(1),
        result(1, "left"),
        result(1, "guest-1"),
        result(1, "guest-2"),
        recap("left", { ok: 1 }),
        recap("guest-1", { ok: 1 }),
        recap("guest-2", { ok: 1 }),
      ],
      3,
    ),
    { hosts: ["left"] },
  );
  expect(events.filter((event) => event.kind === "host_recap").map(({ host }) => host)).toEqual([
    "left",
    null,
    null,
  ]);
  expect(JSON.stringify(events)).not.toContain("guest");
  expect(outcome.targets.map(({ host }) => host)).toEqual(["left"]);
  expect(outcome.verdict).toBe("succeeded");
});

test("includes, ignored failures, ignored unreachables and skips add up as in Ansible", () => {
  const { outcome } = readFrames(
    end(
      [
        hello,
        play(1),
        task(1),
        result(1, "left", { counted: "include" }),
        { k: "include", hosts: ["left"] },
        { k: "include", hosts: ["left"] },
        task(2),
        result(2, "left", { status: "skipped" }),
        task(3),
        result(3, "left", { ...failure, ignored: true, changed: true }),
        task(4),
        result(4, "left", { status: "unreachable", ignored: true, hint: "connection_refused" }),
        task(5),
        result(5, "left", { status: "skipped", counted: "meta" }),
        task(6),
        result(6, "left", { ...failure, changed: true }),
        recap("left", { ok: 4, changed: 1, skipped: 1, ignored: 2, rescued: 1 }),
      ],
      1,
    ),
    { hosts: ["left"] },
  );
  expect(outcome.error).toBeNull();
  expect(outcome.targets[0]?.outcome).toBe("changed");
});

test("attempts of a retry are shown unless the result is sensitive", () => {
  const retry = (fields: Partial<FrameFields>) => ({
    k: "retry",
    play: 1,
    task: 1,
    host: "left",
    attempt: 2,
    hidden: false,
    ...fields,
  });
  const { events } = readFrames([hello, play(1), task(1), retry({}), retry({ hidden: true })]);
  expect(events.flatMap((event) => (event.kind === "task_retry" ? [event.attempt] : []))).toEqual([
    2,
    null,
  ]);
});

test("a play without hosts and a play that lost its hosts are told apart", () => {
  const { events, outcome } = readFrames(
    end(
      [
        hello,
        play(1),
        { k: "no_hosts", play: 1, reason: "no_hosts_matched" },
        play(2),
        { k: "no_hosts", play: 2, reason: "no_hosts_remaining" },
      ],
      0,
    ),
  );
  expect(events.map(({ kind }) => kind)).toContain("play_skipped");
  expect(events.map(({ kind }) => kind)).toContain("play_stopped");
  expect(outcome.error?.code).toBe("nothing_ran");
});
