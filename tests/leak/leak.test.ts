import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isTerminal, type RunStatus } from "@aim/contract";
import { startAimctl } from "../../clients/cli/testing/run-aimctl.ts";
import { makeFolder, startPlane, until, writeTree, type TestPlane } from "../harness/plane.ts";
import { commandOf, descendantsOf } from "../harness/processes.ts";
import { CanaryCage } from "./canaries.ts";
import { watchProcesses, type ProcessWatch } from "./process-watch.ts";
import { leakyProject, type LeakyProject } from "./project.ts";
import { Scanner, type Sighting } from "./scanner.ts";
import { addKept, addPrinted, addSent, digestsOf, type Stores } from "./stores.ts";

const cage = new CanaryCage();
const stores: Stores = new Map();
let plane: TestPlane;
let folder: string;
let project: LeakyProject;
let scanner: Scanner;
let watch: ProcessWatch;

beforeAll(async () => {
  project = leakyProject(cage);
  scanner = new Scanner(cage.all);
  folder = makeFolder("leaky");
  writeTree(folder, project.files);
  watch = watchProcesses();
  plane = await startPlane({ arguments: ["--lease-ttl-s", "3", "--log", "trace"] });
});
afterAll(async () => {
  watch[Symbol.dispose]();
  await plane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

type Ending = "success" | "failure" | "waiting";

/** Runs the project through aimctl, does something to it on the way, and gathers all that it left. */
async function runLeaky(
  ending: Ending,
  output: string,
  meanwhile?: (runId: string) => Promise<void>,
) {
  const files = [join(folder, "site.yml"), "-i", join(folder, "inventory.yml")];
  const words = ["--socket", plane.socketPath, "run", ...files, "-e", `ending=${ending}`];
  const more = ["--yes", "--output", output, "--credentials-fd", "3"];
  const known = new Set((await plane.client.runs()).map(({ run_id }) => run_id));
  const descriptor3 = JSON.stringify(project.credentials);
  const started = startAimctl([...words, ...more], { descriptor3 });
  const newest = async (): Promise<RunStatus | undefined> =>
    (await plane.client.runs()).find(({ run_id }) => !known.has(run_id));
  const ended = started.ended;
  await Promise.race([ended, until(30_000, async () => (await newest()) !== undefined)]);
  const runId = (await newest())?.run_id;
  if (runId === undefined) throw new Error(`no run: ${(await ended).stderr}`);
  await meanwhile?.(runId);
  const { stdout, stderr } = await ended;
  stores.set(`aimctl run, ${ending}, ${runId}`, Buffer.from(`${stdout}\n${stderr}`));
  const status = await plane.client.status(runId);
  expect(isTerminal(status.state)).toBe(true);
  await addSent(stores, plane, runId);
  await addPrinted(stores, plane, runId);
  return { status, stdout, stderr };
}

/** Waits until the last task of the run has started, where it stays. */
async function untilWaiting(runId: string): Promise<void> {
  const stop = new AbortController();
  for await (const line of plane.client.follow(runId, 0, { signal: stop.signal })) {
    if (line.type === "response") throw new Error(`ended: ${line.response.state}`);
    if (line.event.kind === "task_started" && line.event.label === "Wait in the end") return;
  }
}

function sightings(): string[] {
  const told = ({ canary, form, at }: Sighting): string => `${form} at ${at}: ${canary}`;
  return [...stores].flatMap(([name, bytes]) =>
    scanner.scan(bytes).map((sighting) => `${name}: ${told(sighting)}`),
  );
}

describe("a thousand secrets", () => {
  test("stand in every place of the project", () => {
    expect(cage.all.length).toBeGreaterThanOrEqual(1_000);
    expect(new Set(cage.all).size).toBe(cage.all.length);
    const source = Buffer.from(Object.values(project.files).join("\n"));
    const inSource = new Set(scanner.scan(source).map(({ canary }) => canary));
    // The others are vaulted, or credentials.
    expect(inSource.size).toBeGreaterThan(950);
  });

  test("are used by a run that succeeds", async () => {
    const { status, stdout } = await runLeaky("success", "text");
    expect(status.result).toMatchObject({ state: "succeeded", error: null });
    // Every task ran: those that must fail did, and nothing else.
    expect(status.result?.targets[0]?.counts).toMatchObject({ failures: 0, ignored: 8 });
    expect(stdout).toContain("PLAY RECAP");
  });

  test("are used by a run that fails", async () => {
    const { status } = await runLeaky("failure", "ndjson");
    expect(status.result).toMatchObject({ state: "failed", error: { code: "hosts_failed" } });
  });

  test("are used by a run that is cancelled", async () => {
    const { status } = await runLeaky("waiting", "json", async (runId) => {
      await untilWaiting(runId);
      await plane.client.cancel(runId);
    });
    const told = { state: "cancelled", error: { code: "cancelled" } };
    expect(status.result, plane.logText()).toMatchObject(told);
  });

  test("are used by a run whose runner is killed", async () => {
    const { status } = await runLeaky("waiting", "ndjson", async (runId) => {
      await untilWaiting(runId);
      const all = descendantsOf(plane.process.pid ?? 0);
      const runner = all.find((pid) => commandOf(pid).includes("runner/main.ts"));
      process.kill(runner ?? 0, "SIGKILL");
    });
    expect(status.result).toMatchObject({ state: "lost", error: { code: "lost" } });
  });

  test("are in no byte that is stored or sent", () => {
    addKept(stores, plane, digestsOf(folder));
    stores.set("processes", Buffer.from(watch.shown(), "latin1"));
    expect(watch.samples()).toBeGreaterThan(50);
    const names = [...stores.keys()].join("\n");
    for (const part of ["aim.sqlite", "aim.sqlite-wal", "blobs/", "aimd.log", "processes"]) {
      expect(names).toContain(part);
    }
    for (const part of ["logs/stdout.log", "events.jsonl", "result/result.json", "HTTP manifest"]) {
      expect(names).toContain(part);
    }
    expect(sightings()).toEqual([]);
  });

  const WRITERS: readonly ((text: string) => string)[] = [
    (text) => text,
    (text) => JSON.stringify({ name: text }),
    (text) => encodeURIComponent(`name ${text}`),
    (text) => Buffer.from(`name ${text}`).toString("hex"),
    (text) => Buffer.from(`n${text}.`).toString("base64"),
    (text) => Buffer.from(`na${text}.`).toString("base64"),
    (text) => Buffer.from(`nam${text}.`).toString("base64"),
  ];

  test("would have been found: twenty of twenty that are planted in those stores", () => {
    const all = [...stores].filter(([, bytes]) => bytes.length > 0);
    for (let turn = 0; turn < 20; turn += 1) {
      const [name, bytes] = all[(turn * 7) % all.length] ?? ["", Buffer.alloc(0)];
      const canary = cage.all[(turn * 47) % cage.all.length] ?? "";
      const written = WRITERS[turn % WRITERS.length]?.(canary) ?? "";
      const at = (turn * 7_919) % bytes.length;
      const parts = [bytes.subarray(0, at), Buffer.from(written), bytes.subarray(at)];
      const found = scanner.scan(Buffer.concat(parts)).map((sighting) => sighting.canary);
      expect({ name, found: [...new Set(found)] }).toEqual({ name, found: [canary] });
    }
  });
});
