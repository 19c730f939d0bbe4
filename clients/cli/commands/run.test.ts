import { expect, test } from "vitest";
import { aimctl, startAimctl, startOnTerminal, type StartOptions } from "../testing/run-aimctl.ts";
import {
  numbered,
  play,
  prepared,
  recap,
  result,
  RUN_ID,
  runResult,
  task,
} from "../testing/samples.ts";
import {
  errorLine,
  eventLines,
  responseLine,
  startScriptedPlane,
  type Reply,
  type ScriptedPlane,
} from "../testing/scripted-plane.ts";
import { screenAfter } from "../testing/terminal.ts";

const EVENTS = numbered([
  { kind: "stage", stage: "running" },
  play("Patch web tier"),
  task("Install", "t1"),
  result("t1", "web1", { status: "changed" }),
  result("t1", null),
  task("Restart", "t2", { handler: true }),
  result("t2", "web1", { status: "failed", hint: "task_failed", cause: "file_not_found" }),
  recap("web1", { ok: 1, changed: 1, failures: 1 }),
  recap(null, { ok: 1 }),
]);
const FAILED = runResult({
  state: "failed",
  error: "hosts_failed",
  outcomes: { web1: "failed", web2: "succeeded" },
});
const READY = { capabilities: { lines: [responseLine({ runtime_ready: true })] } };
const WHOLE: Reply = { lines: [...eventLines(EVENTS), responseLine(FAILED)] };

function planeThat(
  execute: Reply,
  review: Parameters<typeof prepared>[0] = {},
): Promise<ScriptedPlane> {
  const registered = { customer: "local", playbook: "site", hosts: ["web1", "web2"] };
  return startScriptedPlane({
    ...READY,
    "POST /v1/project": { lines: [registered] },
    "POST /v1/credentials": { lines: [{ credentials_id: `crd_${"0".repeat(26)}` }] },
    prepare: { lines: [responseLine(prepared(review))] },
    execute,
  });
}

function words(plane: ScriptedPlane, ...more: readonly string[]): string[] {
  return ["run", "site.yml", "-i", "hosts", "--socket", plane.socketPath, ...more];
}

async function piped(plane: ScriptedPlane, more: readonly string[], options: StartOptions = {}) {
  return aimctl(words(plane, "--yes", ...more), options);
}

const calls = (plane: ScriptedPlane) =>
  plane.received.filter(({ what }) => what !== "capabilities");
const received = (plane: ScriptedPlane) => calls(plane).map(({ what }) => what);

test("in a pipe the run is plain lines on stdout and the review is on stderr", async () => {
  await using plane = await planeThat(WHOLE);
  const ended = await piped(plane, []);
  expect(ended.exit).toBe(2);
  // eslint-disable-next-line no-control-regex
  expect(ended.stdout + ended.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  expect(ended.stdout).toMatch(
    /PLAY \[Patch web tier\] \*+\n\nTASK \[Install\] \*+\nchanged: \[web1\]\nok: \[host withheld\]\n/,
  );
  expect(ended.stdout).toMatch(/HANDLER \[Restart\] \*+\nfailed: \[web1\] => The task failed/);
  expect(ended.stdout).toMatch(/PLAY RECAP \*+\nweb1 +: ok=1 +changed=1 +unreachable=0 +failed=1/);
  expect(ended.stdout).toContain(`run ${RUN_ID}`);
  expect(ended.stderr).toContain("REVIEW Site");
  expect(ended.stderr).toContain("ansible-playbook site.yml --limit 'web1,web2 x'");
  expect(received(plane)).toEqual(["POST /v1/project", "prepare", "execute"]);
});

test("a run waits for the runner of a plane that has just begun", async () => {
  await using plane = await startScriptedPlane({
    capabilities: [{ lines: [responseLine({ runtime_ready: false })] }, READY.capabilities],
    "POST /v1/project": { status: 422, lines: [{ code: "playbook_not_found" }] },
  });
  const ended = await piped(plane, []);
  expect(ended.exit).toBe(64);
  expect(ended.stderr).toContain("waiting for a runner");
  expect(plane.received.map(({ what }) => what)).toEqual([
    "capabilities",
    "capabilities",
    "POST /v1/project",
  ]);
});

test("flags become the project and the request in the contract's words", async () => {
  await using plane = await planeThat(WHOLE);
  await piped(plane, [
    "-C",
    "-l",
    "web",
    "-t",
    "a,b",
    "-t",
    "c",
    "-f",
    "9",
    "-u",
    "me",
    "-b",
    "-e",
    "x=1",
    "--summary",
  ]);
  expect(JSON.parse(calls(plane)[0]?.body ?? "")).toMatchObject({
    playbook: expect.stringMatching(/^\/.*\/site\.yml$/),
    role: null,
    inventory: [expect.stringMatching(/^\//)],
    limit: "web",
    options: {
      forks: 9,
      tags: ["a", "b", "c"],
      skip_tags: [],
      user: "me",
      become: true,
      timeout_s: 3600,
    },
  });
  expect(JSON.parse(calls(plane)[1]?.body ?? "")).toMatchObject({
    request: { progress_mode: "summary", check: true, variables: { x: "1" } },
  });
});

test("colour is asked for and refused by flag and by environment", async () => {
  await using plane = await planeThat(WHOLE);
  expect((await piped(plane, ["--color", "always"])).stdout).toContain(
    "\u{1b}[0;33mchanged: [web1]",
  );
  const forced = { env: { CLICOLOR_FORCE: "1" } };
  expect((await piped(plane, [], forced)).stdout).toContain("\u{1b}[0;33m");
  expect((await piped(plane, ["--color", "never"], forced)).stdout).not.toContain("\u{1b}");
  expect(
    (await piped(plane, [], { env: { CLICOLOR_FORCE: "1", NO_COLOR: "1" } })).stdout,
  ).not.toContain("\u{1b}");
});

test("json is one document and ndjson the lines of the wire", async () => {
  await using plane = await planeThat(WHOLE);
  expect(JSON.parse((await piped(plane, ["--output", "json"])).stdout)).toEqual(FAILED);
  const lines = (await piped(plane, ["--output", "ndjson"])).stdout.trimEnd().split("\n");
  expect(lines.map((line): unknown => JSON.parse(line))).toEqual(WHOLE.lines);
});

test("credentials of a descriptor are announced by slot and handed over once", async () => {
  await using plane = await planeThat(WHOLE);
  const ended = await piped(plane, ["--credentials-fd", "3"], {
    descriptor3: '{"become_password":"hunter2"}',
  });
  expect(received(plane)).toEqual([
    "POST /v1/project",
    "prepare",
    "POST /v1/credentials",
    "execute",
  ]);
  expect(
    plane.received.filter(({ body }) => body.includes("hunter2")).map(({ what }) => what),
  ).toEqual(["POST /v1/credentials"]);
  expect(calls(plane)[0]?.body).toContain('"credential_slots":["become_password"]');
  expect(calls(plane)[3]?.body).toContain('"credentials_id":"crd_');
  expect(ended.stdout + ended.stderr).not.toContain("hunter2");
});

test("destructive content is prepared again by its name", async () => {
  await using plane = await startScriptedPlane({
    ...READY,
    "POST /v1/project": { lines: [{ customer: "c", playbook: "p", hosts: ["web1"] }] },
    prepare: [
      { status: 422, lines: [errorLine("destructive_not_marked")] },
      {
        lines: [
          responseLine(
            prepared({ destructive: true, destructive_because: ["site.yml:4 removes a package"] }),
          ),
        ],
      },
    ],
    execute: WHOLE,
  });
  const ended = await piped(plane, []);
  expect(ended.stderr).toContain("- site.yml:4 removes a package");
  expect(calls(plane)[2]?.body).toContain('"destructive":true');
});

test("a denied review executes nothing", async () => {
  const findings = [{ code: "code_plugin", weight: "deny", message: "m", at: "x.py" } as const];
  await using plane = await planeThat(WHOLE, { findings: [...findings] });
  const ended = await piped(plane, []);
  expect(ended.exit).toBe(64);
  expect(ended.stderr).toContain("Denied (1)");
  expect(received(plane)).not.toContain("execute");
});

test("a refusal is a sentence for people and an error line for programs", async () => {
  await using plane = await startScriptedPlane({
    ...READY,
    "POST /v1/project": {
      status: 422,
      lines: [{ code: "playbook_syntax", title: "m", at: "site.yml:3\u{1b}" }],
    },
  });
  const ended = await piped(plane, ["--output", "ndjson"]);
  expect(ended.exit).toBe(64);
  expect(ended.stderr).toContain(
    "could not be parsed. Try ansible-playbook --syntax-check. (playbook_syntax at site.yml:3\\u{001b})",
  );
  expect(JSON.parse(ended.stdout)).toMatchObject({
    type: "error",
    error: { code: "playbook_syntax" },
  });
});

test("a stream that is cut before its first event is an unknown outcome", async () => {
  await using plane = await planeThat({ lines: [], finish: "cut" });
  const ended = await piped(plane, []);
  expect(ended.exit).toBe(8);
  expect(ended.stderr).toContain("aimctl status lists the newest runs");
});

test("a stream that is cut later goes on from the last event", async () => {
  const follow = `GET /v1/runs/${RUN_ID}/events?after=4`;
  await using plane = await startScriptedPlane({
    ...READY,
    "POST /v1/project": { lines: [{ customer: "c", playbook: "p", hosts: ["web1"] }] },
    prepare: { lines: [responseLine(prepared())] },
    execute: { lines: eventLines(EVENTS.slice(0, 4)), finish: "cut" },
    [follow]: { lines: [...eventLines(EVENTS.slice(4)), responseLine(FAILED)] },
  });
  const ended = await piped(plane, ["--output", "ndjson"]);
  expect(ended.exit).toBe(2);
  expect(ended.stdout.trimEnd().split("\n")).toHaveLength(EVENTS.length + 1);
});

test.each(["SIGINT", "SIGTERM"] as const)(
  "%s detaches, says how to come back and leaves the run alone",
  async (signal) => {
    await using plane = await planeThat({ lines: eventLines(EVENTS.slice(0, 4)), finish: "hold" });
    const started = startAimctl(words(plane, "--yes"));
    await started.saw("changed: [web1]");
    started.process.kill(signal);
    const ended = await started.ended;
    expect(ended.exit).toBe(130);
    expect(ended.stderr).toContain(`run goes on: aimctl watch ${RUN_ID} · aimctl cancel ${RUN_ID}`);
    expect(received(plane)).not.toContain("cancel");
  },
);

test("on a terminal: review, question, live region, and afterwards only what stays", async () => {
  await using plane = await planeThat({ ...WHOLE, pace: 150 });
  const started = startOnTerminal(words(plane), { columns: 100 });
  await started.saw("Run this on 2 hosts? [y/N]");
  expect(received(plane)).not.toContain("execute");
  started.type("y\r");
  await started.saw("Ctrl-C detaches");
  const ended = await started.ended;
  expect(ended.exit).toBe(2);
  const live = ended.stdout.slice(ended.stdout.indexOf("Run this on"));
  const screen = screenAfter(
    live.slice(live.indexOf("\n") + 1).replaceAll(/[^ -~]\[\?2004[hl]/g, ""),
  );
  const text = screen.join("\n");
  expect(text).not.toContain("Ctrl-C detaches");
  expect(text).not.toContain("─");
  expect(text.match(/changed: \[web1\]/g)).toHaveLength(1);
  expect(text.match(/TASK \[Install\]/g)).toHaveLength(1);
  expect(text).toMatch(/failed: \[web1\][^]*PLAY RECAP[^]*TARGETS[^]*RESULT failed/);
});

test("on a terminal Ctrl-C takes the region away and detaches", async () => {
  await using plane = await planeThat({ lines: eventLines(EVENTS.slice(0, 4)), finish: "hold" });
  const started = startOnTerminal(words(plane, "--yes"), { columns: 80 });
  await started.saw("TASK Install");
  started.type("\u{3}");
  const ended = await started.ended;
  expect(ended.exit).toBe(130);
  expect(ended.stdout).toContain("run goes on: aimctl watch");
  expect(received(plane)).not.toContain("cancel");
});

test("on a terminal a no runs nothing, and so does Ctrl-C at the question", async () => {
  await using plane = await planeThat(WHOLE);
  for (const [typed, exit] of [
    ["n\r", 1],
    ["\u{3}", 130],
  ] as const) {
    const started = startOnTerminal(words(plane), { columns: 80 });
    await started.saw("[y/N]");
    started.type(typed);
    const ended = await started.ended;
    expect(ended.exit).toBe(exit);
    expect(ended.stdout).toContain("Nothing was run.");
  }
  expect(received(plane)).not.toContain("execute");
});

test("destructive work wants the number of hosts, a yes is not enough", async () => {
  await using plane = await planeThat(WHOLE, { destructive: true });
  for (const [typed, exit] of [
    ["y\r", 1],
    ["2\r", 2],
  ] as const) {
    const started = startOnTerminal(words(plane), { columns: 80 });
    await started.saw("Type the number of hosts");
    started.type(typed);
    expect((await started.ended).exit).toBe(exit);
  }
  expect(received(plane).filter((what) => what === "execute")).toHaveLength(1);
});

test("a typed password is not echoed and reaches the plane", async () => {
  await using plane = await planeThat(WHOLE);
  const started = startOnTerminal(words(plane, "--yes", "-K"), { columns: 80 });
  await started.saw("BECOME password: ");
  started.type("huntex\u{7f}r2\r");
  const ended = await started.ended;
  expect(ended.exit).toBe(2);
  expect(ended.stdout).not.toContain("hunte");
  expect(plane.received.find(({ what }) => what === "POST /v1/credentials")?.body).toBe(
    '{"become_password":"hunter2"}',
  );
});
