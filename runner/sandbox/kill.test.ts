// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { cleanOrphans } from "./orphans.ts";
import {
  bootId,
  holdNamespace,
  killNamespace,
  namespaceOf,
  processFacts,
  processesIn,
} from "./proof.ts";
import { openSandbox } from "./sandbox.ts";
import type { Sandbox, SandboxProcess } from "./sandbox.ts";
import { HOSTILE, comesTrue, shell, testConfig, testJob, withSandbox } from "./testing/fixture.ts";

async function startHostile(
  sandbox: Sandbox,
): Promise<{ tool: SandboxProcess; namespace: string }> {
  const namespace = namespaceOf(sandbox.initPid) ?? "";
  const tool = await sandbox.start(testJob(shell(HOSTILE)));
  tool.stderr.resume();
  await once(tool.stdout, "data");
  return { tool, namespace };
}

test("stopping a hostile tree leaves nothing within the grace and a second", async () => {
  for (const grace of [0, 200]) {
    await withSandbox(async (sandbox) => {
      const letGo = holdNamespace(sandbox.initPid);
      const { tool, namespace } = await startHostile(sandbox);
      expect(processesIn(namespace).length).toBeGreaterThan(8);
      await tool.stop(grace);
      expect(await comesTrue(() => processesIn(namespace).length === 0, 1_000)).toBe(true);
      expect(await tool.exit).toEqual({ code: null, signal: "SIGKILL", reason: "stopped" });
      expect(await sandbox.destroy()).toEqual({ killConfirmed: true, leftovers: 0 });
      letGo();
    });
  }
});

test("destroying a running sandbox kills it, proves it and removes its directory, once or twice", async () => {
  using config = testConfig();
  const sandbox = await openSandbox(config, "doomed");
  const { tool } = await startHostile(sandbox);
  const [first, second] = await Promise.all([sandbox.destroy(), sandbox.destroy()]);
  expect(first).toEqual({ killConfirmed: true, leftovers: 0 });
  expect(second).toBe(first);
  expect((await tool.exit).reason).toBe("sandbox_died");
  expect(readdirSync(config.runtimeDir)).toEqual([]);
});

test("a tool that obeys ends with its own exit code before the grace is over", async () => {
  await withSandbox(async (sandbox) => {
    for (const stopSignal of ["SIGINT"] as const) {
      const script = "trap 'exit 42' INT; echo up; while :; do sleep 0.05; done";
      const tool = await sandbox.start(testJob(shell(script), { stopSignal }));
      await once(tool.stdout, "data");
      const began = performance.now();
      await tool.stop(20_000);
      expect(performance.now() - began).toBeLessThan(5_000);
      expect(await tool.exit).toEqual({ code: 42, signal: null, reason: "stopped" });
    }
  });
});

test("a tool past its own limit is stopped and named so", async () => {
  await withSandbox(async (sandbox) => {
    const tool = await sandbox.start(
      testJob(shell("trap '' TERM; while :; do sleep 1; done"), { timeoutMs: 100, graceMs: 100 }),
    );
    expect(await tool.exit).toEqual({ code: null, signal: "SIGKILL", reason: "deadline" });
  });
});

test("what a tool leaves behind dies with it, so its output ends", async () => {
  await withSandbox(async (sandbox) => {
    const tool = await sandbox.start(testJob(shell("setsid sleep 1000 & exit 3")));
    tool.stdout.resume();
    await once(tool.stdout, "end");
    expect((await tool.exit).code).toBe(3);
  });
});

test("a lease that is not extended ends everything, one that is extended does not", async () => {
  await withSandbox(async (sandbox) => {
    sandbox.extendDeadline(150);
    const { tool } = await startHostile(sandbox);
    for (let extension = 0; extension < 4; extension += 1) {
      sandbox.extendDeadline(400);
      await comesTrue(() => false, 200);
    }
    const began = performance.now();
    expect((await tool.exit).reason).toBe("lease");
    expect(performance.now() - began).toBeLessThan(1_500);
  });
});

async function drive(
  runtimeDir: string,
  leaseMs: number,
): Promise<{ driver: ChildProcess; initPid: number; namespace: string }> {
  const script = fileURLToPath(new URL("testing/driver.ts", import.meta.url));
  const driver = spawn(process.execPath, [script, runtimeDir, String(leaseMs)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = driver.stdout ? await once(driver.stdout, "data") : [];
  const told: unknown = JSON.parse(String(line));
  if (typeof told !== "object" || told === null || !("initPid" in told) || !("namespace" in told))
    throw new Error("driver");
  return { driver, initPid: Number(told.initPid), namespace: String(told.namespace) };
}

test("when the runner is stopped by a signal everything is dead by the lease's end and two seconds", async () => {
  using config = testConfig();
  const { driver, initPid, namespace } = await drive(config.runtimeDir, 1_500);
  const letGo = holdNamespace(initPid);
  try {
    driver.kill("SIGSTOP");
    expect(await comesTrue(() => processesIn(namespace).length === 0, 3_500)).toBe(true);
  } finally {
    letGo();
    driver.kill("SIGKILL");
    await once(driver, "exit");
  }
});

test("when the runner is killed everything dies, and the next runner removes the directory", async () => {
  using config = testConfig();
  const { driver, initPid, namespace } = await drive(config.runtimeDir, 600_000);
  const letGo = holdNamespace(initPid);
  expect(await cleanOrphans(config.runtimeDir)).toEqual([
    { id: "driven", what: "owned", leftovers: 0 },
  ]);
  expect(processesIn(namespace).length).toBeGreaterThan(8);
  driver.kill("SIGKILL");
  await once(driver, "exit");
  expect(await comesTrue(() => processesIn(namespace).length === 0, 2_000)).toBe(true);
  letGo();
  expect(await cleanOrphans(config.runtimeDir)).toEqual([
    { id: "driven", what: "removed", leftovers: 0 },
  ]);
  expect(readdirSync(config.runtimeDir)).toEqual([]);
});

test("a sandbox that outlived its runner is killed and removed by the next", async () => {
  using config = testConfig();
  const sandbox = await openSandbox(config, "orphan");
  await startHostile(sandbox);
  const file = join(config.runtimeDir, "orphan", "owner.json");
  const record: unknown = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...Object(record), runner: { pid: 1, start: "never" } }));
  expect(await cleanOrphans(config.runtimeDir)).toEqual([
    { id: "orphan", what: "killed_and_removed", leftovers: 0 },
  ]);
  expect(processFacts(sandbox.initPid)).toBeNull();
  await sandbox.destroy();
});

test("a foreign process that got a dead sandbox's pid is left alone", async () => {
  using config = testConfig();
  const foreign = spawn("sleep", ["1000"], { stdio: "ignore" });
  const pid = foreign.pid ?? 0;
  const start = processFacts(pid)?.start ?? "";
  const namespace = namespaceOf(pid);
  const runner = { pid: 1, start: "never" };
  const records = {
    "other-start": { boot: bootId(), runner, init: { pid, start: "1" }, namespace },
    "other-namespace": { boot: bootId(), runner, init: { pid, start }, namespace: "1" },
    "other-boot": { boot: "earlier", runner, init: { pid, start }, namespace },
  };
  for (const [id, record] of Object.entries(records)) {
    mkdirSync(join(config.runtimeDir, id));
    writeFileSync(join(config.runtimeDir, id, "owner.json"), JSON.stringify(record));
  }
  mkdirSync(join(config.runtimeDir, "riddle"));
  const reports = await cleanOrphans(config.runtimeDir);
  expect(new Map(reports.map(({ id, what }) => [id, what]))).toEqual(
    new Map([
      ...Object.keys(records).map((id) => [id, "removed"] as const),
      ["riddle", "unknown"] as const,
    ]),
  );
  expect(existsSync(`/proc/${pid}`) && foreign.exitCode === null).toBe(true);
  foreign.kill("SIGKILL");
  await once(foreign, "exit");
});

test("a namespace in which something stays is not said to be dead", async () => {
  // A process outside whose children would be inside: nobody may kill it, and nobody may overlook it.
  const outside = spawn("unshare", ["-Ur", "--pid", "sh", "-c", "sleep 600 & echo $!; read end"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const gone = once(outside, "exit");
  try {
    await once(outside.stdout, "data");
    const children = `/proc/${outside.pid ?? 0}/task/${outside.pid ?? 0}/children`;
    const init = processFacts(Number(readFileSync(children, "utf8").trim()));
    if (init === null) throw new Error("nothing was started inside");
    const namespace = namespaceOf(init.pid) ?? "";
    const letGo = holdNamespace(init.pid);
    expect(await killNamespace(init, namespace)).toEqual({ killConfirmed: false, leftovers: 1 });
    outside.stdin.end("\n");
    await gone;
    expect(await killNamespace(init, namespace)).toEqual({ killConfirmed: true, leftovers: 0 });
    letGo();
  } finally {
    outside.kill("SIGKILL");
  }
});
