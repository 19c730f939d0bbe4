#!/usr/bin/env node
// aim-runner: claims attempts from the plane and carries each out in a sandbox of its own.
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DRIVERS } from "@aim/drivers/drivers";
import { startClaimLoop } from "./claim/loop.ts";
import { newId } from "./ids.ts";
import type { RunnerParts } from "./parts.ts";
import { createPlaneClient } from "./plane-client.ts";
import { runDoctor } from "./sandbox/doctor.ts";
import { cleanOrphans } from "./sandbox/orphans.ts";
import { createSandboxSource } from "./sandboxes.ts";
import { readRunnerSettings, type RunnerSettings } from "./settings.ts";
import { loadToolchain } from "./toolchain.ts";

const REGISTER_RETRY_MS = 250;

function log(code: string, error?: unknown): void {
  const detail = error instanceof Error ? { name: error.name, message: error.message } : {};
  const entry = { time: new Date().toISOString(), service: "aim-runner", code, ...detail };
  process.stderr.write(`${JSON.stringify(entry)}\n`);
}

function makeRuntimeDir(settings: RunnerSettings): string {
  mkdirSync(settings.runtimeDir, { recursive: true, mode: 0o711 });
  chmodSync(settings.runtimeDir, 0o711);
  const own = process.getuid?.() ?? 0;
  chownSync(settings.runtimeDir, own, process.getgid?.() ?? 0);
  return settings.runtimeDir;
}

/** Tools that a runner staged and could not remove, since it was killed. */
function removeDeadTools(runtimeDir: string): void {
  for (const name of readdirSync(runtimeDir)) {
    const pid = /^tools-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) {
      rmSync(join(runtimeDir, name), { recursive: true, force: true });
    }
  }
}

/** A sandbox that could not be proved dead keeps its folder, and with it the ones above, for the next runner. */
function removeEmpty(folders: readonly string[]): void {
  for (const folder of folders) {
    try {
      rmdirSync(folder);
    } catch {
      return;
    }
  }
}

async function main(): Promise<void> {
  process.umask(0o022);
  const settings = readRunnerSettings(process.argv.slice(2), process.env);
  const runtimeDir = makeRuntimeDir(settings);
  removeDeadTools(runtimeDir);
  const tools = join(runtimeDir, `tools-${process.pid}`);
  const toolchain = loadToolchain(settings.toolchainFile, tools);
  const sandboxes = createSandboxSource(toolchain, {
    bwrap: "/usr/bin/bwrap",
    runtimeDir: join(runtimeDir, "s"),
    uid: settings.sandboxUid,
  });
  const plane = createPlaneClient(settings.socketPath);
  const parts: RunnerParts = { instanceId: newId("rnr"), plane, sandboxes, toolchain, log };
  await cleanOrphans(sandboxes.config.runtimeDir);
  const checks = await runDoctor(sandboxes.config);
  for (const check of checks.filter(({ ok }) => !ok)) log(`sandbox_check_failed:${check.id}`);
  const failed = checks.filter(({ ok }) => !ok).length;

  const register = async (): Promise<void> => {
    await plane.register({
      runner_instance_id: parts.instanceId,
      runner_kind: "process",
      job_types: [...DRIVERS.keys()],
      slots: settings.slots,
      runtime: {
        ansible_core: toolchain.ansibleCore,
        python: toolchain.pythonVersion,
        callback_digest: toolchain.inside.callbackDigest,
        isolation: "bubblewrap",
        sandbox_checks: { passed: checks.length - failed, failed },
      },
    });
  };
  for (;;) {
    const done = await register().then(
      () => true,
      () => false,
    );
    if (done) break;
    await delay(REGISTER_RETRY_MS);
  }
  // One failed check and this runner takes no work: it stays registered, so that doctor can say why.
  const loop = failed === 0 ? startClaimLoop(parts, settings.slots, register) : null;
  const stop = async (): Promise<void> => {
    await loop?.drain();
    rmSync(tools, { recursive: true, force: true });
    removeEmpty([join(runtimeDir, "s"), runtimeDir]);
    process.exit(0);
  };
  process.once("SIGTERM", () => void stop());
  process.once("SIGINT", () => void stop());
  // An embedded runner's input ends with its plane. Alone it would wait for ever beside the next plane's own runner.
  if (settings.embedded) process.stdin.once("end", () => void stop()).resume();
  if (loop === null) setInterval(() => undefined, 60_000);
}

try {
  await main();
} catch (error) {
  log("runner_refused", error);
  process.exit(69);
}
