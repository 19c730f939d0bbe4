// SPDX-License-Identifier: Apache-2.0
// The conformance suite: is this host's sandbox what we promise? Run at every
// runner start; one failure and the runner takes no work. It tries things, from
// inside (aim_probe.py) and from outside; it believes no version and no option.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  existsSync,
  readdirSync,
  readlinkSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createServer } from "node:net";
import type { Server } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { findCgroup } from "./cgroup.ts";
import type { SandboxConfig } from "./config.ts";
import { STANDARD_ENVIRONMENT } from "./job.ts";
import { isAlive, processFacts, processesIn, namespaceOf } from "./proof.ts";
import { openSandbox } from "./sandbox.ts";
import type { Sandbox, SandboxJob, SandboxProcess } from "./sandbox.ts";

export interface DoctorResult {
  readonly id: string;
  readonly ok: boolean;
  readonly detail: string;
}

const PROBE = "/opt/aim-doctor/probe.py";
/** Small limits, so that reaching them is quick. */
const LIMITS = {
  memoryBytes: 512 << 20,
  pids: 96,
  fileBytes: 1 << 30,
  openFiles: 256,
  tmpBytes: 8 << 20,
};
const HOST_SOCKETS = [
  ["docker", "/run/docker.sock"],
  ["docker_var", "/var/run/docker.sock"],
  ["containerd", "/run/containerd"],
  ["dbus", "/run/dbus"],
  ["systemd", "/run/systemd"],
  ["user_runtime", "/run/user"],
  ["shadow", "/etc/shadow"],
  ["resolver", "/etc/resolv.conf"],
  ["sys", "/sys"],
  ["root_home", "/root"],
  ["boot", "/boot"],
  ["var_log", "/var/log"],
] as const;

export async function collect(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

const random = (): string => randomBytes(9).toString("hex");

function job(argv: readonly string[], changes: Partial<SandboxJob> = {}): SandboxJob {
  return { argv, env: {}, cwd: "/work", inputs: [], channel: null, ...changes };
}

async function echoServer(): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => socket.on("error", () => undefined).pipe(socket));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { server, port: address.port };
}

function isResult(value: unknown): value is DoctorResult {
  if (typeof value !== "object" || value === null) return false;
  return "id" in value && "ok" in value && typeof value.ok === "boolean" && "detail" in value;
}

function parseResults(text: string): readonly DoctorResult[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line): unknown => JSON.parse(line)).filter(isResult);
}

const NAMESPACES = ["user", "mnt", "pid", "ipc", "uts", "net", "cgroup"];

function probeFacts(sandbox: Sandbox, config: SandboxConfig, port: number): string {
  return JSON.stringify({
    limits: config.limits,
    runner_pid: process.pid,
    namespaces: Object.fromEntries(
      NAMESPACES.map((kind) => [kind, readlinkSync(`/proc/self/ns/${kind}`)]),
    ),
    env: { ...STANDARD_ENVIRONMENT, AIM_PROBE: "1" },
    writable: ["/dev/shm", "/home/aim", "/run/secrets", "/tmp", "/work"],
    absent: [
      ...HOST_SOCKETS,
      ["runtime_directory", config.runtimeDir],
      ["own_source", fileURLToPath(new URL("sandbox.ts", import.meta.url))],
      ["workspace_host_path", sandbox.workspace],
    ],
    dials: [
      ["listed", "127.0.0.1", port, "ping"],
      ["unlisted_host", "192.0.2.7", port, "aim: egress denied"],
      ["unlisted_port", "127.0.0.1", port === 1 ? 2 : 1, "aim: egress denied"],
      ["other_spelling", "127.1", port, "aim: egress denied"],
      ["loopback_by_name", "localhost", port, "aim: egress denied"],
      ["metadata", "169.254.169.254", 80, "aim: egress denied"],
    ],
  });
}

type Report = (id: string, ok: boolean, detail: string) => void;

/** Everything that can be tried by a process inside. */
async function probeInside(
  sandbox: Sandbox,
  config: SandboxConfig,
  report: Report,
): Promise<readonly DoctorResult[]> {
  const { server, port } = await echoServer();
  try {
    sandbox.allowEgress([
      { host: "127.0.0.1", port, protocol: "tcp" },
      { host: "localhost", port, protocol: "tcp" },
    ]);
    const argv = [
      config.python,
      "-I",
      "-S",
      "-B",
      PROBE,
      probeFacts(sandbox, config, port),
      "{fd:frames}",
    ];
    const tool = await sandbox.start(
      job(argv, {
        env: { AIM_PROBE: "1" },
        inputs: [{ kind: "file", name: "canary", bytes: Buffer.from("canary") }],
        channel: "frames",
        timeoutMs: 60_000,
      }),
    );
    const [frames, , complaints] = await Promise.all([
      tool.frames ? collect(tool.frames) : "",
      collect(tool.stdout),
      collect(tool.stderr),
    ]);
    const { code } = await tool.exit;
    report("probe_finished", code === 0, code === 0 ? "exit 0" : complaints.slice(-300));
    const { allowed, denied } = sandbox.egress;
    report("egress_counted", allowed === 1 && denied === 5, `${allowed} allowed, ${denied} denied`);
    return parseResults(frames);
  } finally {
    server.close();
  }
}

function commandLinesWith(needle: string): boolean {
  const pids = readdirSync("/proc").filter(
    (name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid,
  );
  return pids.some((pid) =>
    ["cmdline", "environ"].some((file) => {
      try {
        return readFileSync(`/proc/${pid}/${file}`).includes(needle);
      } catch {
        return false;
      }
    }),
  );
}

async function hostileTool(sandbox: Sandbox, secret: string): Promise<SandboxProcess> {
  // Children that leave the session, ignore TERM and fork on; "up" says they run.
  const script =
    "trap '' TERM INT HUP; for i in 1 2 3 4; do setsid sh -c 'trap \"\" TERM INT HUP; " +
    "while :; do sleep 0.01 & wait; done' & done; echo up; while :; do sleep 1; done";
  return sandbox.start(
    job(["/bin/sh", "-c", script], {
      inputs: [{ kind: "fifo", name: "unread", bytes: Buffer.from(secret) }],
    }),
  );
}

/** Killing, and what it leaves. */
async function probeKill(config: SandboxConfig, report: Report): Promise<void> {
  const secret = random();
  const id = `doctor-${random()}`;
  const sandbox = await openSandbox(config, id);
  try {
    await refused(report, "second_sandbox_in_workspace_refused", () => openSandbox(config, id));
    const namespace = namespaceOf(sandbox.initPid) ?? "";
    const init = { pid: sandbox.initPid, start: processFacts(sandbox.initPid)?.start ?? "" };
    const tool = await hostileTool(sandbox, secret);
    tool.stderr.resume();
    await once(tool.stdout, "data");
    await refused(report, "second_start_refused", () => hostileTool(sandbox, secret));
    report("secret_not_in_proc", !commandLinesWith(secret), "command lines and environments");
    report(
      "hostile_tree_runs",
      processesIn(namespace).length > 4,
      `${processesIn(namespace).length}`,
    );
    const began = performance.now();
    await tool.stop(100);
    const { reason } = await tool.exit;
    report("stop_within_grace", performance.now() - began < 1_100, reason);
    const proof = await sandbox.destroy();
    report("kill_confirmed", proof.killConfirmed && !isAlive(init), `${proof.leftovers} left`);
    report("directory_removed", !existsSync(join(config.runtimeDir, id)), "removed");
    await refused(report, "destroyed_sandbox_stays_unused", () => hostileTool(sandbox, secret));
  } finally {
    await sandbox.destroy();
  }
}

async function refused(report: Report, id: string, attempt: () => Promise<unknown>): Promise<void> {
  try {
    await attempt();
    report(id, false, "accepted");
  } catch (problem) {
    report(id, true, problem instanceof Error ? problem.message : "refused");
  }
}

/**
 * CVE-2026-87766: bubblewrap before 0.12 follows a symlink below a mount point
 * and makes host files. A workspace full of symlinks, and mounts beside it,
 * must leave the host as it was.
 */
async function probeSymlinks(config: SandboxConfig, report: Report): Promise<void> {
  const outside = mkdtempSync(join(config.runtimeDir, "doctor-outside-"));
  const trap = mkdtempSync(join(config.runtimeDir, "doctor-trap-"));
  for (const name of ["tmp", "link", "secrets", "etc", "work"])
    symlinkSync(outside, join(trap, name));
  const mounts = [...config.readOnly, { from: trap, to: "/opt/aim-trap" }];
  try {
    await refused(report, "nested_mount_refused", async () => {
      const nested = { from: "/usr", to: "/opt/aim-trap/link/x" };
      await (
        await openSandbox({ ...config, readOnly: [...mounts, nested] }, `doctor-${random()}`)
      ).destroy();
    });
    const sandbox = await openSandbox({ ...config, readOnly: mounts }, `doctor-${random()}`);
    for (const name of ["known_hosts", "home"]) symlinkSync(outside, join(sandbox.workspace, name));
    const tool = await sandbox.start(
      job(["/bin/sh", "-c", "echo x > /work/home/escaped; ls /work/home/"]),
    );
    await Promise.all([collect(tool.stdout), collect(tool.stderr), tool.exit]);
    await sandbox.destroy();
    report(
      "symlinks_make_no_host_files",
      readdirSync(outside).length === 0,
      readdirSync(outside).join(" "),
    );
    report("symlink_targets_survive_removal", existsSync(outside), "kept");
  } finally {
    rmSync(trap, { recursive: true, force: true });
    rmSync(outside, { recursive: true, force: true });
  }
}

async function guarded(report: Report, id: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (problem) {
    report(id, false, problem instanceof Error ? problem.message : "failed");
  }
}

/** Every check must be ok before the runner takes work. Takes about a second. */
export async function runDoctor(config: SandboxConfig): Promise<readonly DoctorResult[]> {
  const results: DoctorResult[] = [];
  const report: Report = (id, ok, detail) => {
    results.push({ id, ok, detail });
  };
  const probe = { from: fileURLToPath(new URL("aim_probe.py", import.meta.url)), to: PROBE };
  const small: SandboxConfig = { ...config, readOnly: [...config.readOnly, probe], limits: LIMITS };
  mkdirSync(config.runtimeDir, { recursive: true, mode: 0o700 });
  await guarded(report, "inside", async () => {
    const sandbox = await openSandbox(small, `doctor-${random()}`);
    try {
      results.push(...(await probeInside(sandbox, small, report)));
    } finally {
      const proof = await sandbox.destroy();
      report("end_confirmed", proof.killConfirmed, `${proof.leftovers} left`);
    }
  });
  await guarded(report, "kill", () => probeKill(small, report));
  await guarded(report, "symlinks", () => probeSymlinks(small, report));
  // Never a failure: named, so that a reader of the report knows.
  const cgroup = findCgroup(config.cgroup);
  report("cgroup", true, cgroup === null ? "none: memory per process only" : "v2");
  return results;
}
