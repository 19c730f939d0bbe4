import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { isTerminal, type RunEvent, type RunResult } from "@aim/contract";
import { startRun } from "../harness/background.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { runRequest, startPlane, until, type TestPlane } from "../harness/plane.ts";
import { commandOf, descendantsOf, pidsWith } from "../harness/processes.ts";
import { outcomesOf } from "../harness/story.ts";
import { QUICK, stubborn, type Stubborn } from "./stubborn.ts";

const LEASE_S = 6;
const LEASE = ["--lease-ttl-s", String(LEASE_S)];

function write(plane: TestPlane, customer: string, files: Readonly<Record<string, string>>) {
  const site = { playbook: "site.yml", grace_s: 1 };
  writeCustomer(plane.catalogDir, { customer, playbooks: { site }, files });
  return { customer, playbook: "site", hosts: ["one"] };
}

function runnerOf(plane: TestPlane): number {
  const found = descendantsOf(plane.process.pid ?? 0).find(isRunner);
  if (found === undefined) throw new Error("no runner");
  return found;
}

const isRunner = (pid: number): boolean => commandOf(pid).includes("runner/main.ts");

async function startStubborn(plane: TestPlane) {
  const made = stubborn();
  const run = await startRun(plane, write(plane, "stubborn", made.files));
  await until(30_000, () => pidsWith(made.mark).length >= made.processes);
  return { made, run };
}

const isGone = ({ mark }: Stubborn): boolean => pidsWith(mark).length === 0;

async function follow(plane: TestPlane, runId: string) {
  const events: RunEvent[] = [];
  for await (const line of plane.client.follow(runId)) {
    if (line.type === "response") return { events, result: line.response };
    events.push(line.event);
  }
  throw new Error("no result");
}

function expectLost(result: RunResult): void {
  expect(result).toMatchObject({
    state: "lost",
    effect: "unknown",
    failure_category: "lease_lost",
    error: { code: "lost" },
  });
  expect(outcomesOf(result)).toEqual(["one unknown"]);
}

test("a runner that is killed takes its run along, the run is lost, and the next one works", async () => {
  await using plane = await startPlane({ arguments: LEASE });
  const { made, run } = await startStubborn(plane);
  process.kill(runnerOf(plane), "SIGKILL");
  const begun = performance.now();
  await until(3_000, () => isGone(made));
  expectLost(await run.result);
  expect(performance.now() - begun).toBeLessThan((LEASE_S + 3) * 1000);
  expect(run.events.map(({ sequence }) => sequence)).toEqual(run.events.map((_, i) => i + 1));
  const again = await follow(plane, run.runId);
  expect(again.events).toEqual(run.events);
  expectLost(again.result);
  const next = await runRequest(plane.client, write(plane, "quick", QUICK));
  expect(next.result.state).toBe("succeeded");
});

test("a runner that is killed while it stops its run leaves it cancelled where the plane is told so, its effect unknown", async () => {
  await using plane = await startPlane({ arguments: [...LEASE, "--silent-cancel", "cancelled"] });
  const { made, run } = await startStubborn(plane);
  process.kill(runnerOf(plane), "SIGSTOP");
  await plane.client.cancel(run.runId);
  process.kill(runnerOf(plane), "SIGKILL");
  await until(3_000, () => isGone(made));
  const result = await run.result;
  expect(result).toMatchObject({
    state: "cancelled",
    effect: "unknown",
    kill_confirmed: false,
    failure_category: "cancelled",
    error: { code: "cancelled" },
  });
  expect(outcomesOf(result)).toEqual(["one unknown"]);
});

test("a plane that is killed tells after its restart what is known of the run", async () => {
  const first = await startPlane({ arguments: LEASE });
  const home = dirname(first.stateDir);
  try {
    const { made, run } = await startStubborn(first);
    const runner = runnerOf(first);
    run.result.catch(() => undefined);
    const seen = [...run.events];
    await first.stop("SIGKILL");
    // Without a plane nobody may extend the lease: the sandbox ends its work by itself.
    await until((LEASE_S + 3) * 1000, () => isGone(made));
    // Its runner ends by itself too: a new plane brings its own.
    await until(40_000, () => !isRunner(runner));
    await using plane = await startPlane({ home, arguments: LEASE });
    await until(30_000, async () => isTerminal((await plane.client.status(run.runId)).state));
    const told = await follow(plane, run.runId);
    expect(told.events.slice(0, seen.length)).toEqual(seen);
    expect(told.events.map(({ sequence }) => sequence)).toEqual(told.events.map((_, i) => i + 1));
    expect(told.result.state).not.toBe("succeeded");
    expect(told.result.effect).toBe("unknown");
    expect(outcomesOf(told.result)).toEqual(["one unknown"]);
    const next = await runRequest(plane.client, write(plane, "quick", QUICK));
    expect(next.result.state).toBe("succeeded");
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
