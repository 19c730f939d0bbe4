import { expect, test } from "vitest";
import { Progress } from "../run/progress.ts";
import { numbered, play, result, task } from "../testing/samples.ts";
import { screenAfter } from "../testing/terminal.ts";
import { REGION_LINES_MAX, regionLines } from "./region.ts";
import { Screen } from "./screen.ts";
import { painter } from "./style.ts";
import { displayWidth } from "./width.ts";

function terminal(more: { live?: boolean; shared?: boolean } = {}) {
  let output = "";
  const sink = { write: (text: string) => (output += text) };
  const size = { columns: 40 };
  const screen = new Screen({
    out: sink,
    err: sink,
    live: true,
    shared: true,
    columns: () => size.columns,
    ...more,
  });
  return { screen, size, output: () => output, shown: () => screenAfter(output) };
}

test("lines stay above the region, which is redrawn in its place", () => {
  const { screen, shown } = terminal();
  screen.draw(["---", "one"]);
  screen.append(["a", "b"]);
  expect(shown()).toEqual(["---", "one", ""]);
  screen.draw(["---", "two"]);
  expect(shown()).toEqual(["a", "b", "---", "two", ""]);
  screen.append(["c"]);
  screen.finish();
  expect(shown()).toEqual(["a", "b", "c", ""]);
});

test("nothing is written where nothing changed", () => {
  const { screen, output } = terminal();
  screen.draw(["x"]);
  const before = output();
  screen.draw(["x"]);
  expect(output()).toBe(before);
});

test("a terminal made narrower is cleared row by row", () => {
  const { screen, size, output } = terminal();
  screen.draw(["x".repeat(39)]);
  size.columns = 10;
  screen.finish();
  expect(output()).toContain("\u{1b}[4A");
});

test("without a terminal there is no region and no control code", () => {
  const { screen, output } = terminal({ live: false, shared: false });
  screen.draw(["region"]);
  screen.append(["a"]);
  screen.finish();
  expect(output()).toBe("a\n");
});

test("a held flood is written before the next redraw", () => {
  const { screen, output } = terminal();
  screen.draw(["region"]);
  for (let index = 0; index < 600; index += 1) screen.append([`line ${index}`]);
  expect(output()).toContain("line 499");
  expect(output()).not.toContain("line 599");
});

test.each([20, 40, 80, 200])("the region fits %i columns and eight lines", (columns) => {
  const progress = new Progress();
  const events = [play(`Play ${"サ".repeat(100)}`)];
  for (let index = 0; index < 9; index += 1) {
    events.push(task(`Task ${index} ${"x".repeat(90)}`, `t${index}`));
  }
  for (const event of numbered([
    ...events,
    result("t3", "a", { status: "changed" }),
    result("t3", null),
  ])) {
    progress.take(event);
  }
  const moment = {
    elapsedS: 3725,
    lastEventAgeS: 0,
    columns,
    paint: painter(false),
    hint: "Ctrl-C detaches",
  };
  const lines = regionLines(progress, moment);
  expect(lines.length).toBeLessThanOrEqual(REGION_LINES_MAX);
  for (const line of lines) expect(displayWidth(line)).toBeLessThan(Math.max(columns, 21));
  expect(lines.join("\n")).not.toContain("%");
});

test("anonymous counters stand in for hosts only where there are no details", () => {
  const results = { ok: 3, changed: 0, failed: 1, unreachable: 0, skipped: 0 };
  const progress = new Progress();
  const moment = { elapsedS: 5, lastEventAgeS: 1, columns: 120, paint: painter(false), hint: "h" };
  for (const event of numbered([{ kind: "progress", tasks_started: 2, results }])) {
    progress.take(event);
  }
  expect(regionLines(progress, moment).join("\n")).toContain("results  ✓ 3 ok");
  for (const event of numbered([play("P"), task("T", "t1"), result("t1", "a")], 2)) {
    progress.take(event);
  }
  expect(regionLines(progress, moment).join("\n")).toContain("hosts  ✓ 1 ok");
});

test("the region counts hosts by their newest state, and withheld results apart", () => {
  const progress = new Progress();
  const bodies = [
    play("P"),
    task("T", "t1"),
    result("t1", "a"),
    result("t1", "b", { status: "failed", hint: "task_failed" }),
    result("t1", "c", { status: "unreachable", hint: "host_unreachable" }),
    result("t1", null),
    task("U", "t2"),
    result("t2", "a", { status: "changed" }),
    result("t2", "b"),
    result("t2", "a", { status: "skipped" }),
  ];
  for (const event of numbered(bodies)) progress.take(event);
  expect(progress.hostCounts()).toEqual({
    ok: 1,
    changed: 1,
    failed: 0,
    unreachable: 1,
    skipped: 0,
  });
  const moment = { elapsedS: 5, lastEventAgeS: 1, columns: 120, paint: painter(false), hint: "h" };
  const text = regionLines(progress, moment).join("\n");
  expect(text).toContain(
    "hosts  ✓ 1 ok  △ 1 changed  ✕ 0 failed  ⌁ 1 unreachable  – 0 skipped  ◪ 1 withheld results",
  );
  expect(text).toContain("elapsed 5s   last event 1s ago");
});
