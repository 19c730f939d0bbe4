import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunResult, RunStatus } from "@aim/contract";
import { createClient } from "@aim/sdk";
import { makeFolder, until, writeTree } from "../harness/plane.ts";

const AIMCTL = fileURLToPath(new URL("../../clients/cli/main.ts", import.meta.url));
const END_MS = 60_000;

let home = "";
let state = "";

beforeAll(() => {
  home = makeFolder("cli");
  state = join(home, "state");
  writeTree(join(home, "project"), {
    "inventory.ini": `good ansible_connection=local
bad ansible_connection=local
gone ansible_host=127.0.0.1 ansible_port=1
`,
    "site.yml": `- name: Some hosts do not make it
  hosts: all
  gather_facts: false
  tasks:
    - name: Look
      ansible.builtin.ping:
    - name: Fail where it should
      ansible.builtin.command: /bin/false
      changed_when: false
      when: inventory_hostname == "bad"
`,
    "slow.yml": `- name: Take your time
  hosts: all
  gather_facts: false
  tasks:
    - name: Wait
      ansible.builtin.command: sleep 600
      changed_when: false
`,
    "roles/small/tasks/main.yml": "- name: From the role\n  ansible.builtin.ping:\n",
  });
});

afterAll(async () => {
  const pid = Number(readFileSync(join(state, "aimd.lock"), "utf8").split(" ")[0]);
  process.kill(pid, "SIGTERM");
  await until(END_MS, () => !lives(pid));
  rmSync(home, { recursive: true, force: true });
});

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function textOf(stream: Readable | null): Promise<string> {
  const pieces: Buffer[] = [];
  if (stream === null) return "";
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function aimctl(words: readonly string[], input = ""): Promise<Ended> {
  const child = spawn(process.execPath, [AIMCTL, ...words, "--state", state], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(input);
  const [[status], stdout, stderr] = await Promise.all([
    once(child, "exit") as Promise<[number | null]>,
    textOf(child.stdout),
    textOf(child.stderr),
  ]);
  return { status, stdout, stderr };
}

const place = (name: string): string => join(home, "project", name);
const run = (playbook: string, ...words: string[]): Promise<Ended> =>
  aimctl(["run", place(playbook), "-i", place("inventory.ini"), "--yes", ...words]);

test.for([
  ["good", 0],
  ["bad", 2],
  ["gone", 4],
  ["all", 6],
] as const)("a run limited to %s ends with status %d", async ([limit, status]) => {
  const ended = await run("site.yml", "-l", limit);
  expect(ended.status, ended.stderr).toBe(status);
  expect(ended.stdout).toContain("PLAY RECAP");
});

test("a pipe gets plain lines without a single control code", async () => {
  const { stdout, stderr } = await run("site.yml", "-l", "good");
  expect(stdout + stderr).not.toContain("\u001b");
  expect(stdout).toMatch(/^ok: \[good\]$/m);
});

test("one JSON document at the end, or the wire as it comes", async () => {
  const json = await run("site.yml", "-l", "good", "--output", "json");
  expect((JSON.parse(json.stdout) as RunResult).state).toBe("succeeded");
  const lines = await run("site.yml", "-l", "good", "--output", "ndjson");
  const kinds = lines.stdout
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { type: string }).type);
  expect(kinds.at(-1)).toBe("response");
  expect(kinds.filter((kind) => kind === "event").length).toBeGreaterThan(3);
});

test("a role, a summary and a check each run as asked", async () => {
  const role = await aimctl([
    "run",
    join(home, "project"),
    "--role",
    "small",
    "-i",
    place("inventory.ini"),
    "-l",
    "good",
    "--yes",
  ]);
  expect(role.status, role.stderr).toBe(0);
  expect(role.stdout).toContain("TASK [From the role]");
  const summary = await run("site.yml", "-l", "good", "--summary");
  expect(summary.status).toBe(0);
  expect(summary.stdout).not.toContain("TASK [");
  const check = await run("site.yml", "-l", "bad", "-C");
  expect(check.stderr).toContain("ansible.check_mode.run");
});

test.for([
  [["run", "nowhere.yml", "-i", "nowhere.ini", "--yes"], 64],
  [["run", "--frok"], 64],
  [["status", "run_unknown"], 64],
  [["no-such-command"], 64],
] as const)("%j is refused with status %d and a sentence", async ([words, status]) => {
  const ended = await aimctl(words);
  expect(ended.status).toBe(status);
  expect(ended.stderr.trim()).not.toBe("");
  expect(ended.stdout).toBe("");
});

test("without a terminal and without --yes nothing is run", async () => {
  const ended = await aimctl([
    "run",
    place("site.yml"),
    "-i",
    place("inventory.ini"),
    "-l",
    "good",
  ]);
  expect(ended.status).toBe(64);
});

test("Ctrl-C detaches, the run goes on, and cancel ends it with proof", async () => {
  const child = spawn(
    process.execPath,
    [
      AIMCTL,
      "run",
      place("slow.yml"),
      "-i",
      place("inventory.ini"),
      "-l",
      "good",
      "--yes",
      "--state",
      state,
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let shown = "";
  child.stdout.on("data", (piece: Buffer) => {
    shown += piece.toString();
  });
  const told = textOf(child.stderr);
  const client = createClient({ socketPath: join(state, "aimd.sock") });
  const newest = async (): Promise<RunStatus | undefined> => (await client.runs())[0];
  // Only a client that has seen its run begin can say which one goes on.
  await until(END_MS, () => shown.includes("TASK [Wait]"));
  const exited = once(child, "exit") as Promise<[number | null]>;
  child.kill("SIGINT");
  const [status] = await exited;
  const stderr = await told;
  expect(status).toBe(130);
  const running = await newest();
  expect(stderr).toContain(`aimctl watch ${running?.run_id ?? ""}`);
  expect(running?.state).toBe("running");
  const cancelled = await aimctl(["cancel", running?.run_id ?? ""]);
  expect(cancelled.status).toBe(0);
  const ended = await client.status(running?.run_id ?? "");
  expect(ended.result).toMatchObject({
    state: "cancelled",
    kill_confirmed: true,
    effect: "unknown",
  });
  const watched = await aimctl(["watch", running?.run_id ?? ""]);
  expect(watched.status).toBe(8);
});

test("artifacts are listed and fetched, and checked against their digest", async () => {
  const client = createClient({ socketPath: join(state, "aimd.sock") });
  await run("site.yml", "-l", "good");
  const [newest] = await client.runs();
  const list = await aimctl(["artifacts", "list", newest?.run_id ?? ""]);
  expect(list.stdout).toContain("events.jsonl");
  const got = await aimctl(["artifacts", "get", newest?.run_id ?? "", "events.jsonl"]);
  expect(got.stdout.trim().split("\n").length).toBeGreaterThan(3);
});

test("credentials arrive by a descriptor only, and an unexpected one is refused", async () => {
  const words = ["run", place("site.yml"), "-i", place("inventory.ini"), "-l", "good", "--yes"];
  const child = spawn(
    process.execPath,
    [AIMCTL, ...words, "--credentials-fd", "3", "--state", state],
    { stdio: ["ignore", "pipe", "pipe", "pipe"] },
  );
  (child.stdio[3] as NodeJS.WritableStream).end(
    JSON.stringify({ become_password: "not-on-argv-1" }),
  );
  const [[status], stdout, stderr] = await Promise.all([
    once(child, "exit") as Promise<[number | null]>,
    textOf(child.stdout),
    textOf(child.stderr),
  ]);
  expect(status, stderr).toBe(0);
  expect(stdout + stderr).not.toContain("not-on-argv-1");
  expect(stderr).toMatch(/credentials\s+become_password/);
});

test("doctor says that everything is in order", async () => {
  const ended = await aimctl(["doctor"]);
  expect(ended.status, ended.stdout).toBe(0);
  expect(ended.stdout).toContain("2.19.11");
});
