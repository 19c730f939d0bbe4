import type { EventBody } from "@aim/contract";
import { expect, test } from "vitest";
import { numbered, play, result, task } from "../testing/samples.ts";
import { Scrollback } from "./scrollback.ts";
import { painter } from "./style.ts";

/** The lines without the stars of banners and without blank ones. */
function shown(bodies: readonly EventBody[], color = false): string[] {
  const scrollback = new Scrollback(painter(color));
  return numbered(bodies)
    .flatMap((event) => scrollback.lines(event))
    .map((line) => line.replace(/ \*{3,}$/, ""))
    .filter((line) => line !== "");
}

test("one task after the other reads as ansible-playbook prints it", () => {
  const lines = shown([
    play("Patch web tier"),
    task("Install", "t1"),
    result("t1", "web1"),
    result("t1", "web2", { status: "changed" }),
    task("Restart", "t2", { handler: true }),
    result("t2", "web1", { status: "skipped" }),
    result("t2", "web2", { status: "failed", hint: "task_failed", cause: "command_failed" }),
    result("t2", "web3", { status: "unreachable", hint: "connection_refused" }),
    result("t2", "web4", { status: "failed", hint: "details_withheld", ignored: true }),
  ]);
  expect(lines).toEqual([
    "PLAY [Patch web tier]",
    "TASK [Install]",
    "ok: [web1]",
    "changed: [web2]",
    "HANDLER [Restart]",
    "skipping: [web1]",
    "failed: [web2] => The task failed. Its message is withheld. (command_failed)",
    "unreachable: [web3] => The connection was refused. Check the target listener, port and firewall.",
    "failed: [web4] => The result is marked sensitive. Its details are withheld. ...ignoring",
  ]);
});

test("interleaved results stand under the header of their own task", () => {
  const lines = shown([
    play("Free"),
    task("First", "t1"),
    task("First", "t1"),
    task("Second", "t2"),
    result("t1", "a"),
    result("t2", "b"),
    result("t1", "c"),
    task("Third", "t3"),
    result("t3", "b"),
    result("t2", "a"),
  ]);
  expect(lines).toEqual([
    "PLAY [Free]",
    "TASK [First]",
    "ok: [a]",
    "TASK [Second]",
    "ok: [b]",
    "TASK [First]",
    "ok: [c]",
    "TASK [Third]",
    "ok: [b]",
    "TASK [Second]",
    "ok: [a]",
  ]);
});

test("two tasks with one label are two tasks", () => {
  const lines = shown([
    play("P"),
    task("Same", "t1"),
    result("t1", "a"),
    task("Same", "t2"),
    result("t2", "a"),
  ]);
  expect(lines.filter((line) => line === "TASK [Same]")).toHaveLength(2);
});

test("withheld hosts are shown one by one", () => {
  const lines = shown([
    play("P"),
    task("T", "t1"),
    result("t1", null),
    result("t1", null, { status: "changed" }),
  ]);
  expect(lines.slice(2)).toEqual(["ok: [host withheld]", "changed: [host withheld]"]);
});

test("a result whose task was never announced says so", () => {
  expect(shown([result("t9", "a")])).toEqual([
    "PLAY [start not received]",
    "TASK [start not received]",
    "ok: [a]",
  ]);
});

test("plays that match no host or lose all are told as Ansible tells them", () => {
  const lines = shown([
    play("P"),
    { kind: "play_skipped", play_id: "p1", reason: "no_hosts_matched" },
    { kind: "play_stopped", play_id: "p1", reason: "no_hosts_remaining" },
  ]);
  expect(lines).toEqual(["PLAY [P]", "skipping: no hosts matched", "NO MORE HOSTS LEFT"]);
});

test("retries and polls keep to their task", () => {
  const again = { play_id: "p1", task_id: "t1", host_redacted: false, details_redacted: false };
  const lines = shown([
    play("P"),
    task("T", "t1"),
    { kind: "task_retry", ...again, host: "a", attempt: 1 },
    { kind: "task_async_poll", ...again, host: null, attempt: null },
  ]);
  expect(lines.slice(2)).toEqual(["retrying: [a] (attempt 1)", "polling: [host withheld]"]);
});

test("hostile labels and names cannot move the cursor", () => {
  const lines = shown([
    play("\u{1b}[2Jwiped"),
    task("a\u{202e}b", "t1"),
    result("t1", "h\r\nok: [faked]"),
  ]);
  expect(lines).toEqual([
    "PLAY [\\u{001b}[2Jwiped]",
    "TASK [a\\u{202e}b]",
    "ok: [h\\u{000d}\\u{000a}ok: [faked]]",
  ]);
});

test("colours are Ansible's", () => {
  const lines = shown(
    [
      play("P"),
      task("T", "t1"),
      result("t1", "a"),
      result("t1", "b", { status: "changed" }),
      result("t1", "c", { status: "failed" }),
      result("t1", "d", { status: "unreachable" }),
      result("t1", "e", { status: "skipped" }),
    ],
    true,
  );
  expect(lines.slice(2).map((line) => line.slice(0, 7))).toEqual([
    "\u{1b}[0;32m",
    "\u{1b}[0;33m",
    "\u{1b}[0;31m",
    "\u{1b}[1;35m",
    "\u{1b}[0;36m",
  ]);
});
