import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Coverage, JournalRecord } from "@aim/contract";
import { aimctl } from "../../clients/cli/testing/run-aimctl.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { makeFolder, runRequest, startPlane, type Ran, type TestPlane } from "../harness/plane.ts";

let plane: TestPlane;
let folder = "";
let ran: Ran;
let jobId = "";

beforeAll(async () => {
  folder = makeFolder("journal-cli");
  plane = await startPlane();
  writeCustomer(plane.catalogDir, {
    playbooks: { site: { playbook: "site.yml" } },
    files: {
      "inventory.ini": "one ansible_connection=local\ntwo ansible_connection=local\n",
      "site.yml": `- name: Look around
  hosts: all
  gather_facts: false
  tasks:
    - name: Say hello
      ansible.builtin.ping:
`,
    },
  });
  ran = await runRequest(plane.client, {
    customer: "acme",
    playbook: "site",
    hosts: ["one", "two"],
  });
  jobId = (await plane.client.jobs())[0]?.job_id ?? "";
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const run = (...words: string[]) => aimctl(["--socket", plane.socketPath, "journal", ...words]);
const records = () => ran.events.filter(({ kind }) => kind !== "progress");

test("a run of Ansible stands in the journal with all it said but the counters that repeat it", async () => {
  const page = await plane.client.journal(jobId, { after: 0, limit: 500 });
  expect(page.records.map(({ event }) => event)).toEqual(records());
  expect(page.gaps).toEqual([]);
  const snapshot = await plane.client.journalSnapshot(jobId);
  expect(snapshot).toMatchObject({
    capture: "closed",
    cursor: page.cursor,
    checkpoint: { stage: "finalizing", play: { label: "Look around" }, task_starts: 1 },
    coverage: [{ stored: ran.events.length, lost: 0, omitted: null }],
  });
  expect(snapshot.matrix.hosts.toSorted()).toEqual(["one", "two"]);
  expect(snapshot.matrix.tasks.map(({ label }) => label)).toEqual(["Say hello"]);
  for (const { received_at } of page.records) expect(received_at).toMatch(/^20\d\d-/);
});

test("aimctl journal show tells what is covered and one line for each record", async () => {
  const { exit, stdout } = await run("show", jobId);
  expect(exit).toBe(0);
  expect(stdout).toContain("captured to its end");
  expect(stdout).toContain(`${ran.events.length} events stored`);
  expect(stdout.match(/ {2}host_result {2}.*host=(?:one|two) {2}status=ok$/gm)).toHaveLength(2);
  const json = await run("show", jobId, "--limit", "1", "--output", "json");
  const page = JSON.parse(json.stdout) as { records: JournalRecord[] };
  expect(page.records.map(({ event }) => event.kind)).toEqual(["result"]);
});

test("aimctl journal follow prints an ended journal once and ends", async () => {
  const { exit, stdout } = await run("follow", jobId, "--output", "ndjson");
  const lines = stdout.trim().split("\n");
  const messages = lines.map(
    (line) => JSON.parse(line) as { type: string; records?: JournalRecord[] },
  );
  expect(exit).toBe(0);
  expect(messages.at(-1)?.type).toBe("end");
  expect(messages.flatMap((message) => message.records ?? []).map(({ event }) => event)).toEqual(
    records(),
  );
});

test("aimctl journal export writes a new file that begins with what it covers", async () => {
  const file = join(folder, "journal.ndjson");
  expect((await run("export", jobId, file)).exit).toBe(0);
  const [first, ...rest] = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; coverage?: Coverage[]; event?: unknown });
  expect(first).toMatchObject({ type: "coverage", job_id: jobId });
  expect(first?.coverage?.[0]).toMatchObject({ stored: ran.events.length, lost: 0, omitted: null });
  expect(rest.map(({ event }) => event)).toEqual(records());
  const again = await run("export", jobId, file);
  expect([again.exit, again.stderr]).toEqual([64, expect.stringContaining("is there already")]);
});
