import type { TargetOutcome } from "@aim/contract";
import { expect, test } from "vitest";
import { counts, DIGEST, RUN_ID, runResult } from "../testing/samples.ts";
import { endingLines, recapLines } from "./recap.ts";
import { painter } from "./style.ts";
import { displayWidth } from "./width.ts";

const plain = painter(false);

test("a recap line is Ansible's, to the column", () => {
  const row = { host: "web1", counts: counts({ ok: 2, changed: 1 }) };
  expect(recapLines([row], plain).at(-1)).toBe(
    "web1                       : ok=2    changed=1    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0",
  );
});

test("rows with odd names are aligned by what the eye sees", () => {
  const hosts = [
    "web-01",
    "サーバー-01",
    "café".normalize("NFD"),
    "שרת-01",
    "🚀-rocket",
    "👩‍💻",
    "x".repeat(40),
  ];
  const lines = recapLines(
    hosts.map((host) => ({ host, counts: counts() })),
    plain,
  ).slice(2);
  const columns = lines.map((line) => displayWidth(line.slice(0, line.indexOf(" : ok="))));
  expect(new Set(columns)).toEqual(new Set([40]));
});

test("withheld hosts keep a row each", () => {
  const rows = [
    { host: null, counts: counts({ ok: 1 }) },
    { host: null, counts: counts({ ok: 1 }) },
  ];
  const lines = recapLines(rows, plain).filter((line) => line.startsWith("host withheld"));
  expect(lines).toHaveLength(2);
});

test("a colour code never shifts the columns", () => {
  const rows = [
    { host: "a", counts: counts({ failures: 1 }) },
    { host: "bb", counts: counts({ ok: 12 }) },
  ];
  // eslint-disable-next-line no-control-regex
  const painted = recapLines(rows, painter(true)).map((line) =>
    line.replaceAll(/\u001b\[[0-9;]*m/g, "").trimEnd(),
  );
  expect(painted).toEqual(recapLines(rows, plain));
});

test("targets, result, bundle and next step follow", () => {
  const ending = {
    result: runResult({
      state: "failed",
      error: "hosts_failed",
      outcomes: { web1: "changed", web2: "failed" },
      lost: 7,
    }),
    recaps: [],
    advice: ["A file or folder that the task needs does not exist."],
  };
  const text = endingLines(ending, plain).join("\n");
  expect(text).toContain("web2                       : failed\n2 requested: 1 changed, 1 failed");
  expect(text).toContain(`RESULT failed, effect complete, evidence complete, run ${RUN_ID}`);
  expect(text).toContain("At least one host failed. (hosts_failed)");
  expect(text).toContain("7 events were lost");
  expect(text).toContain(`Bundle ${DIGEST}: aimctl artifacts list ${RUN_ID}`);
  expect(text).toMatch(/NEXT\n {2}A file or folder that the task needs does not exist\.$/);
});

test("of many targets only those that need a look are listed", () => {
  const outcomes: Record<string, TargetOutcome> = {};
  for (let index = 0; index < 41; index += 1) outcomes[`web${index}`] = "succeeded";
  outcomes["bad"] = "unreachable";
  const lines = endingLines(
    { result: runResult({ state: "failed", outcomes }), recaps: [], advice: [] },
    plain,
  );
  const targets = lines.slice(lines.findIndex((line) => line.startsWith("TARGETS")));
  expect(targets[1]).toBe("bad                        : unreachable");
  expect(targets[2]).toBe("42 requested: 41 succeeded, 1 unreachable");
});

test("a host whose recap was lost still has its row", () => {
  const result = runResult({ outcomes: { web1: "succeeded", web2: "succeeded" } });
  const lines = endingLines(
    { result, recaps: [{ host: "web1", counts: counts({ ok: 1 }) }], advice: [] },
    plain,
  );
  expect(lines.filter((line) => / : ok=1/.test(line)).map((line) => line.slice(0, 4))).toEqual([
    "web1",
    "web2",
  ]);
});
