import { createHash } from "node:crypto";
import type { Manifest, RunStatus } from "@aim/contract";
import { expect, test } from "vitest";
import { aimctl } from "../testing/run-aimctl.ts";
import { numbered, play, RUN_ID, runResult } from "../testing/samples.ts";
import {
  errorLine,
  eventLines,
  responseLine,
  startScriptedPlane,
  type Script,
} from "../testing/scripted-plane.ts";

const TIME = "2026-01-02T03:04:05.000006Z";
const RUNNING: RunStatus = {
  run_id: RUN_ID,
  customer: "local",
  playbook: "site",
  title: "site.yml",
  job_type: "ansible.playbook.run",
  hosts: 2,
  state: "running",
  created_at: TIME,
  started_at: TIME,
  ended_at: null,
  cancel_requested_at: null,
  result: null,
};
const KEPT = Buffer.from("kept\u{1b}[2J\n");
const MANIFEST: Manifest = {
  manifest_version: "1.0",
  attempt_id: RUN_ID,
  job_type: "ansible.playbook.run",
  files: [
    {
      path: "tool.log",
      kind: "log",
      sha256: createHash("sha256").update(KEPT).digest("hex"),
      size: KEPT.length,
    },
  ],
  redaction: { applied: true, rules_version: 1, masked: 2, weak: false },
  sandbox: {
    kind: "bubblewrap",
    version: "0.8",
    isolation: [],
    egress_allowed: 1,
    egress_denied: 0,
  },
  evidence: "complete",
};

async function ask(script: Script, words: readonly string[]) {
  await using plane = await startScriptedPlane(script);
  const ended = await aimctl([...words, "--socket", plane.socketPath]);
  return { ...ended, received: plane.received.map(({ what }) => what) };
}

test("watch shows the run from where it is told and ends with the run's status", async () => {
  const ended = await ask(
    {
      [`GET /v1/runs/${RUN_ID}/events?after=3`]: {
        lines: [
          ...eventLines(numbered([play("P")], 4)),
          responseLine(runResult({ state: "lost", outcomes: { a: "unknown" } })),
        ],
      },
    },
    ["watch", RUN_ID, "--after", "3"],
  );
  expect(ended.exit).toBe(8);
  expect(ended.stdout).toContain("PLAY [P]");
  expect(ended.stdout).toContain("What the run did on its targets is not fully known.");
});

test("status without a run is a table, newest first as the plane gives it", async () => {
  const script = { "GET /v1/runs": { lines: [[RUNNING]] } };
  const ended = await ask(script, ["status"]);
  expect(ended.exit).toBe(0);
  expect(ended.stdout).toBe(
    `RUN                             STATE    CREATED               HOSTS  TITLE\n${RUN_ID}  running  2026-01-02T03:04:05Z  2      site.yml\n`,
  );
  expect(JSON.parse((await ask(script, ["status", "--output", "json"])).stdout)).toEqual([RUNNING]);
});

test("status of a run tells where it stands, and of an unknown one that there is none", async () => {
  const ended = await ask({ status: { lines: [responseLine(RUNNING)] } }, ["status", RUN_ID]);
  expect(ended.stdout).toContain(`state        running`);
  expect(ended.stdout).toContain(`aimctl watch ${RUN_ID}`);
  const unknown = await ask({ status: { status: 404, lines: [errorLine("not_found")] } }, [
    "status",
    RUN_ID,
  ]);
  expect(unknown.exit).toBe(64);
});

test("cancel waits for the end, or not", async () => {
  const script: Script = {
    cancel: { lines: [responseLine({ ...RUNNING, state: "cancelling" })] },
    [`GET /v1/runs/${RUN_ID}/events?after=0`]: {
      lines: [
        responseLine(
          runResult({ state: "cancelled", error: "cancelled", outcomes: { a: "unknown" } }),
        ),
      ],
    },
  };
  const waited = await ask(script, ["cancel", RUN_ID]);
  expect(waited).toMatchObject({
    exit: 0,
    stdout: "Ended as cancelled. Nothing of it is left running here.\n",
  });
  const asked = await ask(script, ["cancel", RUN_ID, "--no-wait"]);
  expect(asked).toMatchObject({ exit: 0, received: ["cancel"] });
});

test("artifacts are listed, and given only with their digest", async () => {
  const [file] = MANIFEST.files;
  const list = { [`GET /v1/runs/${RUN_ID}/artifacts`]: { lines: [MANIFEST] } };
  const bytes = (content: Buffer) => ({
    ...list,
    [`GET /v1/runs/${RUN_ID}/artifacts/${file?.sha256}`]: { bytes: content },
  });
  const listed = await ask(list, ["artifacts", "list", RUN_ID]);
  expect(listed.stdout).toContain(`tool.log  log   ${KEPT.length}`);
  const got = await ask(bytes(KEPT), ["artifacts", "get", RUN_ID, "tool.log"]);
  expect(got).toMatchObject({ exit: 0, stdout: KEPT.toString() });
  const forged = await ask(bytes(Buffer.alloc(KEPT.length)), [
    "artifacts",
    "get",
    RUN_ID,
    "tool.log",
  ]);
  expect(forged).toMatchObject({ exit: 1, stdout: "" });
  const missing = await ask(list, ["artifacts", "get", RUN_ID, "other"]);
  expect(missing.exit).toBe(64);
});
