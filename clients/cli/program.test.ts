import {
  AUDIT_PER_PAGE_MAX,
  JOBS_PER_PAGE_MAX,
  JOURNAL_PAGE,
  JOURNAL_PAGE_MAX,
  TOKEN_TTL_S,
} from "@aim/contract";
import { expect, test } from "vitest";
import * as bounds from "./declarations/bounds.ts";
import { aimctl } from "./testing/run-aimctl.ts";

test.each([
  [["rnu"], "Did you mean run?"],
  [["run", "--chek"], "Did you mean --check?"],
  [["run", "site.yml", "--yes"], "Name an inventory with -i"],
  [["run", "--yes", "-i", "hosts"], "Name a playbook"],
  [["run", "site.yml", "-i", "hosts"], "This is not a terminal"],
  [["run", "site.yml", "-i", "a,b,", "--yes"], "list of hosts"],
  [["run", "site.yml", "-i", "hosts", "--yes", "-k"], "Use --credentials-fd"],
  [["run", "site.yml", "-i", "hosts", "-f", "0"], "whole number, 1 to 500"],
  [
    ["run", "site.yml", "-i", "hosts", "--output", "yaml"],
    "Allowed choices are text, json, ndjson",
  ],
  [["run", "site.yml", "-i", "hosts", "--yes", "-e", "word"], "no '='"],
  [["run", "a.yml", "b.yml"], "too many arguments"],
  [["watch"], "missing required argument"],
  [["status", "--after", "1"], "unknown option"],
  [["status", "--state", `/${"x".repeat(120)}`], "too long for a UNIX socket"],
  [["\u{1b}[2J"], "\\u{001b}[2J"],
] as const)("aimctl %j ends with 64 and a sentence", async (words, sentence) => {
  const ended = await aimctl(words);
  expect(ended.stderr).toContain(sentence);
  expect(ended).toMatchObject({ exit: 64, stdout: "" });
  expect(ended.stderr).not.toMatch(/\n\s+at /);
});

test("help gives examples first and loads nothing of the commands", async () => {
  const ended = await aimctl(["run", "--help"], { env: { NODE_DEBUG: "" } });
  expect(ended.exit).toBe(0);
  expect(ended.stdout).toMatch(/^Examples:\n {2}aimctl run site.yml -i inventory.ini\n/);
  expect(ended.stdout).toContain("--state <dir>");
});

test("the bounds of the flags are those of the contract", () => {
  expect({ ...bounds }).toEqual({
    AUDIT_ROWS_MAX: AUDIT_PER_PAGE_MAX,
    JOBS_MAX: JOBS_PER_PAGE_MAX,
    JOURNAL_RECORDS: { usual: JOURNAL_PAGE, most: JOURNAL_PAGE_MAX },
    TOKEN_TTL_S,
  });
});

test("the version is the product's", async () => {
  expect(await aimctl(["--version"])).toMatchObject({ exit: 0, stdout: "aimctl 0.1.0\n" });
});

test.each(["status", "capabilities", "doctor"])(
  "%s without a plane ends with 69",
  async (command) => {
    const ended = await aimctl([command, "--socket", "/nonexistent/aimd.sock"]);
    expect(ended.exit).toBe(69);
  },
);
