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
import { DRIVERS } from "@aim/drivers/drivers";
import { startLeaseKeeper } from "./attempt/lease.ts";
import { startClaimLoop, type ClaimLoop } from "./claim/loop.ts";
import { newId } from "./ids.ts";
import type { RunnerParts } from "./parts.ts";
import { createPlaneClient } from "./plane-client.ts";
import { runDoctor } from "./sandbox/doctor.ts";
import { cleanOrphans } from "./sandbox/orphans.ts";
import { createSandboxSource } from "./sandboxes.ts";
import { createSession, type Session } from "./session.ts";
import { readRunnerSettings, USAGE, UsageError, type RunnerSettings } from "./settings.ts";
import { loadToolchain } from "./toolchain.ts";

const EXIT = { ok: 0, defect: 1, usage: 64, refused: 69 } as const;

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

const toolsIn = (runtimeDir: string): string => join(runtimeDir, `tools-${process.pid}`);

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

interface Runner {
  readonly parts: RunnerParts;
  readonly session: Session;
  readonly failedChecks: number;
}

async function makeRunner(settings: RunnerSettings, runtimeDir: string): Promise<Runner> {
  const toolchain = loadToolchain(settings.toolchainFile, toolsIn(runtimeDir));
  const sandboxes = createSandboxSource(toolchain, {
    bwrap: "/usr/bin/bwrap",
    runtimeDir: join(runtimeDir, "s"),
    uid: settings.sandboxUid,
  });
  const { connection } = settings;
  let token: string | null = null;
  const plane = createPlaneClient(connection, () => token);
  // Without its beats a runner cannot hold what it holds: its sandboxes end with it.
  const leases = startLeaseKeeper(connection, (error) => {
    log("defect", error);
    process.exit(EXIT.defect);
  });
  const instanceId = newId("rnr");
  const parts: RunnerParts = { instanceId, plane, leases, sandboxes, toolchain, log };
  await cleanOrphans(sandboxes.config.runtimeDir);
  const checks = await runDoctor(sandboxes.config);
  for (const check of checks.filter(({ ok }) => !ok)) log(`sandbox_check_failed:${check.id}`);
  const failedChecks = checks.filter(({ ok }) => !ok).length;
  const session = createSession({
    register: plane.register,
    enrolment: settings.enrolment,
    onToken: (fresh) => {
      token = fresh;
      leases.useToken(fresh);
    },
    log,
    body: {
      runner_instance_id: instanceId,
      runner_kind: "process",
      job_types: [...DRIVERS.keys()],
      slots: settings.slots,
      runtime: {
        ansible_core: toolchain.ansibleCore,
        python: toolchain.pythonVersion,
        callback_digest: toolchain.inside.callbackDigest,
        isolation: "bubblewrap",
        sandbox_checks: { passed: checks.length - failedChecks, failed: failedChecks },
      },
    },
  });
  return { parts, session, failedChecks };
}

async function main(): Promise<void> {
  process.umask(0o022);
  const settings = readRunnerSettings(process.argv.slice(2), process.env);
  const runtimeDir = makeRuntimeDir(settings);
  removeDeadTools(runtimeDir);
  const { parts, session, failedChecks } = await makeRunner(settings, runtimeDir);
  let loop: ClaimLoop | null = null;
  let ending = false;
  const end = async (): Promise<void> => {
    await loop?.drain();
    rmSync(toolsIn(runtimeDir), { recursive: true, force: true });
    removeEmpty([join(runtimeDir, "s"), runtimeDir]);
    process.exit(EXIT.ok);
  };
  /** Finishes what is held and ends. Asked again it cancels nothing: it says what it waits for. */
  const stop = (): void => {
    if (ending) for (const id of loop?.held() ?? []) log(`waits_for:${id}`);
    else void end();
    ending = true;
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  // An embedded runner's input ends with its plane. Alone it would wait for ever beside the next plane's own runner.
  if (settings.embedded) process.stdin.once("end", stop).resume();
  await session.join();
  const options = { slots: settings.slots, register: session.register, onDrain: stop };
  // One failed check and this runner takes no work: it stays registered, so that doctor can say why.
  if (failedChecks === 0) loop = startClaimLoop(parts, options);
  else setInterval(() => undefined, 60_000);
}

try {
  await main();
} catch (error) {
  process.exit(explain(error));
}

/** Says why the runner did not start; answers the exit status. */
function explain(error: unknown): number {
  if (error instanceof UsageError) {
    process.stderr.write(`aim-runner: ${error.message}\n\n${USAGE}`);
    return EXIT.usage;
  }
  log("runner_refused", error);
  return EXIT.refused;
}
