import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isTerminal, type RunResult } from "@aim/contract";
import { readRunnerSettings } from "../../runner/settings.ts";
import { startRun, type Background } from "../harness/background.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { runRequest, startPlane, until, type TestPlane } from "../harness/plane.ts";
import { commandOf, descendantsOf, pidsWith } from "../harness/processes.ts";
import { outcomesOf } from "../harness/story.ts";
import { QUICK, stubborn, type Stubborn } from "./stubborn.ts";

const GRACE_MS = 1_000;
/** Issue's promise: nothing is left within the grace and one second; a stop is heard with the next beat. */
const BEAT_MS = 1_000;
const LEFT_MS = GRACE_MS + 1_000 + BEAT_MS;

let plane: TestPlane;
let idle: readonly number[];
let sandboxes: string;

beforeAll(async () => {
  plane = await startPlane();
  idle = descendantsOf(plane.process.pid ?? 0);
  const settings = readRunnerSettings(["--state", plane.stateDir], process.env);
  sandboxes = join(settings.runtimeDir, "s");
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
});

let customers = 0;

function ask(files: Readonly<Record<string, string>>, settings: Record<string, unknown> = {}) {
  customers += 1;
  const customer = `customer-${customers}`;
  const site = { playbook: "site.yml", grace_s: GRACE_MS / 1000, ...settings };
  writeCustomer(plane.catalogDir, { customer, playbooks: { site }, files });
  return { customer, playbook: "site", hosts: ["one"] };
}

async function startStubborn(settings: Record<string, unknown> = {}) {
  const made = stubborn();
  const run = await startRun(plane, ask(made.files, settings));
  await until(30_000, () => left(made).length >= made.processes);
  return { made, run };
}

function left({ mark }: Stubborn): string[] {
  // Ansible's own processes name the whole command too: only those that stay by themselves are looked at.
  return pidsWith(mark).map(commandOf);
}

/** Waits until nothing of the run is on this machine; answers how long that took. */
async function untilGone(made: Stubborn): Promise<number> {
  const begun = performance.now();
  await until(LEFT_MS + 5_000, () => left(made).length === 0 && workspaces().length === 0);
  return performance.now() - begun;
}

function workspaces(): string[] {
  return existsSync(sandboxes) ? readdirSync(sandboxes) : [];
}

function expectHonest(result: RunResult, state: "cancelled" | "timed_out"): void {
  expect(result).toMatchObject({
    state,
    effect: "unknown",
    kill_confirmed: true,
    remote_work: "started",
    error: { code: state },
    stats: null,
  });
  expect(outcomesOf(result)).toEqual(["one unknown"]);
}

async function expectNothingLeft({ made, run }: { made: Stubborn; run: Background }) {
  expect(left(made)).toEqual([]);
  expect(workspaces()).toEqual([]);
  await until(1_000, () => descendantsOf(plane.process.pid ?? 0).length === idle.length);
  expect(descendantsOf(plane.process.pid ?? 0)).toEqual(idle);
  const { state } = await plane.client.status(run.runId);
  expect(isTerminal(state)).toBe(true);
}

describe("a playbook whose processes cling to life", () => {
  test("leaves nothing on the controller once it is cancelled", async () => {
    const started = await startStubborn();
    const { made, run } = started;
    expect(workspaces()).toHaveLength(1);
    const [answer, took] = await Promise.all([plane.client.cancel(run.runId), untilGone(made)]);
    expect(answer.state).toMatch(/^cancell/);
    expect(took).toBeLessThan(LEFT_MS);
    expectHonest(await run.result, "cancelled");
    await expectNothingLeft(started);
  });

  test("leaves nothing on the controller once its deadline has come", async () => {
    const timeoutMs = 8_000;
    const started = await startStubborn({ timeout_s: timeoutMs / 1000 });
    const { made, run } = started;
    await untilGone(made);
    const { created_at } = await plane.client.status(run.runId);
    const after = Date.now() - Date.parse(created_at) - timeoutMs;
    expect(after).toBeGreaterThan(0);
    expect(after).toBeLessThan(LEFT_MS);
    expectHonest(await run.result, "timed_out");
    await expectNothingLeft(started);
  });
});

describe("a cancel", () => {
  test("before the tool was started leaves every host untouched", async () => {
    const run = await startRun(plane, ask(QUICK));
    await plane.client.cancel(run.runId);
    const result = await run.result;
    expect(result).toMatchObject({
      state: "cancelled",
      effect: "none",
      remote_work: "none",
      kill_confirmed: true,
      error: { code: "cancelled" },
    });
    expect(outcomesOf(result)).toEqual(["one not_reached"]);
    expect(run.events.some(({ kind }) => kind === "play_started")).toBe(false);
    await until(LEFT_MS, () => workspaces().length === 0);
  });

  test("may be asked for twice, and after the end changes nothing", async () => {
    const { made, run } = await startStubborn();
    const [one, two] = await Promise.all([
      plane.client.cancel(run.runId),
      plane.client.cancel(run.runId),
    ]);
    expect([one.state, two.state]).toEqual(["cancelling", "cancelling"]);
    expect(one.cancel_requested_at).toBe(two.cancel_requested_at);
    const result = await run.result;
    await untilGone(made);
    const after = await plane.client.cancel(run.runId);
    expect(after).toMatchObject({ state: "cancelled", result });
    expect(await plane.client.status(run.runId)).toEqual(after);
  });

  test("of a finished run changes nothing", async () => {
    const { result } = await runRequest(plane.client, ask(QUICK));
    const after = await plane.client.cancel(result.run_id);
    expect(after).toMatchObject({ state: "succeeded", cancel_requested_at: null, result });
  });

  test("of a run that does not exist is refused", async () => {
    const unknown = `run_${"0".repeat(26)}`;
    await expect(plane.client.cancel(unknown)).rejects.toMatchObject({ code: "not_found" });
    await expect(plane.client.status(unknown)).rejects.toMatchObject({ code: "not_found" });
  });
});

// Last: the runner is another one afterwards.
test("a cancel while no runner has taken the run ends it at once, and it never starts", async () => {
  const asked = ask(QUICK);
  const { request, revision } = await plane.client.prepare(asked);
  const runner = idle.find((pid) => commandOf(pid).includes("runner/main.ts")) ?? 0;
  process.kill(runner, "SIGKILL");
  await until(5_000, () => !descendantsOf(plane.process.pid ?? 0).includes(runner));
  const abort = new AbortController();
  const lines = plane.client.execute({ request, revision }, { signal: abort.signal });
  const reading = lines.next().catch(() => undefined);
  const former = async () =>
    (await plane.client.runs()).find(({ customer }) => customer === asked.customer);
  await until(2_000, async () => (await former())?.state === "queued");
  const runId = (await former())?.run_id ?? "";
  const answer = await plane.client.cancel(runId);
  expect(answer).toMatchObject({
    state: "cancelled",
    started_at: null,
    result: { effect: "none", remote_work: "none", error: { code: "cancelled" } },
  });
  abort.abort();
  await reading;
  // The next run is carried out by the next runner; the cancelled one stays as it was.
  await untilRuns();
  expect(await plane.client.status(runId)).toEqual(answer);
});

async function untilRuns(): Promise<void> {
  const { result } = await runRequest(plane.client, ask(QUICK));
  expect(result.state).toBe("succeeded");
}
