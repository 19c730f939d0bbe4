// SPDX-License-Identifier: Apache-2.0
// What a sandbox is made from, and what the manifest says about one.

export interface SandboxLimits {
  /** Of the whole sandbox where a cgroup can be had, else of each process's data. */
  readonly memoryBytes: number;
  /** Processes and threads together. */
  readonly pids: number;
  /** Largest single file. */
  readonly fileBytes: number;
  readonly openFiles: number;
  /** Of each writable tmpfs: /tmp, /dev/shm and the home directory. */
  readonly tmpBytes: number;
}

export interface ReadOnlyMount {
  readonly from: string;
  /** A leaf of its own; never inside another mount. */
  readonly to: string;
}

export interface SandboxConfig {
  readonly bwrap: string;
  /** Interpreter, found at the same path inside; name its prefix in `readOnly` unless below /usr. */
  readonly python: string;
  /** Host directory of ours, short (a UNIX socket path has 107 bytes). */
  readonly runtimeDir: string;
  readonly readOnly: readonly ReadOnlyMount[];
  /** Host uid and gid of everything inside; needed when the runner is root, else null. */
  readonly uid: number | null;
  readonly limits: SandboxLimits;
  /** Delegated cgroup v2 directory to make leaves in; absent: looked for, null: none. */
  readonly cgroup?: string | null;
}

export interface IsolationFacts {
  readonly kind: "process";
  readonly bubblewrap: string;
  readonly kernel: string;
  readonly namespaces: readonly string[];
  readonly seccomp: { readonly machine: string; readonly sha256: string };
  readonly noNewPrivileges: true;
  readonly cgroup: "v2" | "none";
  readonly memoryLimit: "cgroup" | "per_process";
  readonly pidsLimit: "cgroup" | "per_user_namespace";
  readonly hostUid: number;
  readonly network: "none_with_broker";
}

export type SandboxFault =
  | "bad_config"
  | "exists"
  | "bubblewrap"
  | "init"
  | "start"
  | "used"
  | "ended";

/** A sandbox that could not be had or used. `detail` never holds job data. */
export class SandboxError extends Error {
  readonly fault: SandboxFault;
  readonly detail: string;

  constructor(fault: SandboxFault, detail: string) {
    super(`sandbox: ${fault}: ${detail}`);
    this.name = "SandboxError";
    this.fault = fault;
    this.detail = detail;
  }
}

/** Longest id: it is a directory name and part of a socket path. */
const ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const SOCKET_PATH_BYTES = 107;

// Places the sandbox makes itself; a caller's mount inside one would need a
// mount point made below a bind, which bubblewrap before 0.12 does unsafely.
// Below /tmp and /home they are made on a fresh tmpfs or bubblewrap's root: fine.
const OURS = [
  "/usr",
  "/etc",
  "/proc",
  "/dev",
  "/run",
  "/home/aim",
  "/work",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/var",
  "/sys",
];

const inside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);

const plainPath = (path: string): boolean =>
  path.startsWith("/") && path.length > 1 && !/\/\/|\/\.{1,2}(\/|$)|\/$|\0/.test(path);

function checkMounts(mounts: readonly ReadOnlyMount[]): void {
  for (const [index, { from, to }] of mounts.entries()) {
    if (!plainPath(from) || !plainPath(to))
      throw new SandboxError("bad_config", `path ${from} → ${to}`);
    const taken = to === "/tmp" || to === "/home" || OURS.some((folder) => inside(to, folder));
    if (taken) throw new SandboxError("bad_config", `mount at ${to}`);
    const others = mounts.filter((_, place) => place !== index);
    if (others.some((other) => inside(to, other.to))) {
      throw new SandboxError("bad_config", `mount ${to} lies in another`);
    }
  }
}

export function checkConfig(config: SandboxConfig, id: string): void {
  if (!ID.test(id)) throw new SandboxError("bad_config", "id");
  const socket = `${config.runtimeDir}/${id}/egress.sock`;
  if (!plainPath(config.runtimeDir) || Buffer.byteLength(socket) > SOCKET_PATH_BYTES) {
    throw new SandboxError("bad_config", "runtimeDir is no plain absolute path or too long");
  }
  if (process.getuid?.() === 0 && (config.uid === null || config.uid === 0)) {
    throw new SandboxError("bad_config", "a runner that is root needs a uid for its sandboxes");
  }
  for (const [name, value] of Object.entries(config.limits)) {
    if (!Number.isSafeInteger(value) || value <= 0)
      throw new SandboxError("bad_config", `limit ${name}`);
  }
  checkMounts(config.readOnly);
}
