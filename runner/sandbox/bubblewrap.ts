// SPDX-License-Identifier: Apache-2.0
// bubblewrap's arguments and the spawn itself. The only place that knows its
// options. Order is part of the design: mount points are made on bubblewrap's
// own root or on a fresh tmpfs only, the workspace is bound last and at a leaf,
// then the root itself becomes read-only.
import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, lstatSync, readFileSync, readlinkSync } from "node:fs";
import { Duplex } from "node:stream";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isMainThread } from "node:worker_threads";
import { SandboxError } from "./config.ts";
import type { SandboxConfig } from "./config.ts";
import { seccompProgram, thisMachine } from "./seccomp.ts";

/** As seen inside. */
const UID = 1000;
const SECRETS_BYTES = 96 << 20; // largest private input and some
const DIAGNOSTICS_BYTES = 4_096;

/** What the kernel's loader, TLS clients and time zones need; nothing of the host's identity. */
const ETC = [
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/alternatives",
  "/etc/localtime",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/ca-certificates",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust",
  "/etc/crypto-policies",
  "/etc/services",
  "/etc/protocols",
  "/etc/mime.types",
];
const SYSTEM = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Descriptors bubblewrap starts with. Those up to TOOL_ERR go on to init. */
const FD = {
  control: 3,
  frames: 4,
  toolOut: 5,
  toolErr: 6,
  args: 7,
  seccomp: 8,
  info: 9,
  data: 10,
} as const;

const own = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

function sshConfig(python: string): string {
  return [
    "# Made by AIM. Every connection leaves through the egress broker.",
    "Host *",
    `  ProxyCommand ${python} -I -S -B /run/aim/dial.py %h %p`,
    "  ProxyUseFdpass no",
    "  UserKnownHostsFile /work/known_hosts",
    "  GlobalKnownHostsFile /dev/null",
    "  StrictHostKeyChecking yes",
    "  UpdateHostKeys no",
    "  CheckHostIP no",
    "  ControlMaster no",
    "  ControlPath /run/secrets/.ssh-%C",
    "  CanonicalizeHostname no",
    "  ForwardAgent no",
    "  ForwardX11 no",
    "  GSSAPIAuthentication no",
    "  PermitLocalCommand no",
    "",
  ].join("\n");
}

function source(name: string): string {
  return readFileSync(own(name), "utf8");
}

/** Small files made for every sandbox; those of /etc say nothing about the host. */
function generatedFiles(
  python: string,
): readonly (readonly [path: string, text: string, mode?: string])[] {
  return [
    // Copied, not bound: a checkout need not keep the executable bit, nor let the sandbox's uid walk to it.
    ["/run/aim/askpass", source("aim_askpass.sh"), "0555"],
    ["/run/aim/init.py", source("aim_init.py")],
    ["/run/aim/aim_inputs.py", source("aim_inputs.py")],
    ["/run/aim/dial.py", source("aim_dial.py")],
    [
      "/etc/passwd",
      `aim:x:${UID}:${UID}:aim:/home/aim:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`,
    ],
    ["/etc/group", `aim:x:${UID}:\nnogroup:x:65534:\n`],
    ["/etc/hosts", "127.0.0.1 localhost aim\n::1 localhost\n"],
    ["/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\n"],
    ["/etc/ssh/ssh_config", sshConfig(python)],
  ];
}

function systemMounts(): string[] {
  const args = ["--ro-bind", "/usr", "/usr"];
  for (const path of SYSTEM) {
    const facts = lstatSync(path, { throwIfNoEntry: false });
    if (facts?.isSymbolicLink()) args.push("--symlink", readlinkSync(path), path);
    else if (facts?.isDirectory()) args.push("--ro-bind", path, path);
  }
  for (const path of ETC) if (existsSync(path)) args.push("--ro-bind", path, path);
  return args;
}

function isolation(): string[] {
  return [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-net",
    "--unshare-cgroup",
    "--disable-userns",
    "--uid",
    String(UID),
    "--gid",
    String(UID),
    "--hostname",
    "aim",
    "--new-session",
    "--die-with-parent",
    "--as-pid-1",
    "--cap-drop",
    "ALL",
    "--clearenv",
    "--seccomp",
    String(FD.seccomp),
    "--info-fd",
    String(FD.info),
  ];
}

const tmpfs = (path: string, bytes: number, mode: string): string[] => [
  "--perms",
  mode,
  "--size",
  String(bytes),
  "--tmpfs",
  path,
];

interface Layout {
  readonly workspace: string;
  readonly egressSocket: string;
}

function bubblewrapArguments(config: SandboxConfig, layout: Layout): string[] {
  const { python, limits } = config;
  const files = generatedFiles(python).flatMap(([path, , mode = "0444"], index) => [
    "--perms",
    mode,
    "--ro-bind-data",
    String(FD.data + index),
    path,
  ]);
  return [
    ...isolation(),
    ...systemMounts(),
    ...files,
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    ...tmpfs("/dev/shm", limits.tmpBytes, "1777"),
    "--remount-ro",
    "/dev",
    ...tmpfs("/tmp", limits.tmpBytes, "1777"),
    "--symlink",
    "/tmp",
    "/var/tmp",
    ...tmpfs("/home/aim", limits.tmpBytes, "0700"),
    ...tmpfs("/run/secrets", SECRETS_BYTES, "0700"),
    "--ro-bind",
    layout.egressSocket,
    "/run/aim/egress.sock",
    ...config.readOnly.flatMap(({ from, to }) => ["--ro-bind", from, to]),
    "--bind",
    layout.workspace,
    "/work",
    "--remount-ro",
    "/",
    "--chdir",
    "/",
  ];
}

export interface Launched {
  readonly process: ChildProcess;
  readonly control: Duplex;
  readonly frames: Duplex;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Host pid of init; null when there will be none. */
  readonly initPid: Promise<number | null>;
  /** After bubblewrap has ended and said all it had to say. */
  readonly closed: Promise<void>;
  /** What bubblewrap or init complained of; never job data. */
  readonly diagnostics: () => string;
}

function stream(child: ChildProcess, fd: number): Duplex {
  // Extra 'pipe' descriptors are UNIX socket pairs: both ways, whatever the type says.
  const socket = child.stdio[fd];
  if (!(socket instanceof Duplex)) throw new SandboxError("bubblewrap", "could not be started");
  // A peer that dies with unread data resets the socket; the end tells enough.
  socket.on("error", () => socket.destroy());
  return socket;
}

/** Null when bubblewrap ended before it had made the sandbox. */
async function readInitPid(info: Readable): Promise<number | null> {
  let text = "";
  for await (const chunk of info) text += String(chunk);
  const pid = /"child-pid": *(\d+)/.exec(text)?.[1];
  return pid === undefined ? null : Number(pid);
}

/** Starts bubblewrap with init inside; nothing of a job is known yet. */
export function launch(config: SandboxConfig, layout: Layout): Launched {
  // --die-with-parent fires when the thread that forked ends, not the process.
  if (!isMainThread)
    throw new SandboxError("bad_config", "sandboxes are started from the main thread");
  const files = generatedFiles(config.python);
  const identity =
    process.getuid?.() === 0 && config.uid !== null ? { uid: config.uid, gid: config.uid } : {};
  // The command itself is not taken from --args; it says nothing about a job.
  const command = ["--", config.python, "-I", "-S", "-B", "/run/aim/init.py"];
  const child = spawn(config.bwrap, ["--args", String(FD.args), ...command], {
    ...identity,
    cwd: "/",
    env: {},
    detached: true, // a Ctrl-C at the runner's terminal is for the runner to handle
    stdio: [
      "ignore",
      "ignore",
      "pipe",
      ...Array.from({ length: 7 + files.length }, () => "pipe" as const),
    ],
  });
  const closed = new Promise<void>((resolve) => {
    child.once("error", () => {
      resolve();
    });
    child.stderr?.once("close", () => {
      resolve();
    });
  });
  let complaints = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    if (complaints.length < DIAGNOSTICS_BYTES) complaints += chunk.toString("utf8");
  });
  const give = (fd: number, bytes: Buffer | string): void => {
    stream(child, fd).end(bytes);
  };
  give(FD.args, bubblewrapArguments(config, layout).join("\0") + "\0");
  give(FD.seccomp, seccompProgram(thisMachine()));
  for (const [index, [, text]] of files.entries()) give(FD.data + index, text);
  return {
    process: child,
    control: stream(child, FD.control),
    frames: stream(child, FD.frames),
    stdout: stream(child, FD.toolOut),
    stderr: stream(child, FD.toolErr),
    initPid: readInitPid(stream(child, FD.info)),
    closed,
    diagnostics: () => complaints.trim().slice(-500),
  };
}

const run = promisify(execFile);
const versions = new Map<string, Promise<string>>();

/** "0.8.0"; asked once per path. */
export function bubblewrapVersion(path: string): Promise<string> {
  const known = versions.get(path);
  if (known) return known;
  const asked = run(path, ["--version"], { timeout: 5_000 }).then(
    ({ stdout }) => /\d+(?:\.\d+)+/.exec(stdout)?.[0] ?? "unknown",
    () => {
      versions.delete(path);
      throw new SandboxError("bubblewrap", `cannot run ${path}`);
    },
  );
  versions.set(path, asked);
  return asked;
}
