// SPDX-License-Identifier: Apache-2.0
// A cgroup v2 leaf per sandbox, where the host delegates a writable one with
// the memory and pids controllers. Without one the sandbox still runs, under
// rlimits, and its manifest says so.
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { SandboxLimits } from "./config.ts";

const MOUNT = "/sys/fs/cgroup";
const NEEDED = ["memory", "pids"];
const PATIENCE_MS = 1_000;
const LOOK_EVERY_MS = 5;

function read(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

function isUsable(directory: string): boolean {
  const enabled = read(join(directory, "cgroup.subtree_control")).split(" ");
  if (!NEEDED.every((controller) => enabled.includes(controller))) return false;
  try {
    accessSync(directory, constants.W_OK);
    accessSync(join(directory, "cgroup.procs"), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Directory to make leaves in. A cgroup that holds processes can have no
 * controlled children, so a delegated service keeps its runner in a leaf
 * (systemd: Delegate=, DelegateSubgroup=) and ours become that leaf's siblings.
 */
export function findCgroup(asked: string | null | undefined): string | null {
  if (asked === null) return null;
  if (asked !== undefined) return isUsable(asked) ? asked : null;
  if (!existsSync(join(MOUNT, "cgroup.controllers"))) return null;
  const own = /^0::(\/.*)$/m.exec(read("/proc/self/cgroup"))?.[1];
  if (own === undefined || own === "/") return null;
  const parent = dirname(join(MOUNT, own));
  return isUsable(parent) ? parent : null;
}

export class CgroupLeaf {
  readonly #path: string;

  constructor(parent: string, id: string, limits: SandboxLimits) {
    this.#path = join(parent, `aim-${id}`);
    mkdirSync(this.#path);
    try {
      this.#set("memory.max", limits.memoryBytes);
      this.#set("pids.max", limits.pids);
    } catch (problem) {
      rmdirSync(this.#path);
      throw problem;
    }
    // Absent without swap accounting or on older kernels: bounded anyway.
    this.#try("memory.swap.max", "0");
    this.#try("memory.oom.group", "1");
  }

  /** Before the process has children: what it makes later is born inside. */
  add(pid: number): void {
    this.#set("cgroup.procs", pid);
  }

  /** Race-free against forks. False when the leaf stays populated. */
  async destroy(): Promise<boolean> {
    this.#try("cgroup.kill", "1");
    const giveUp = performance.now() + PATIENCE_MS;
    while (read(join(this.#path, "cgroup.events")).includes("populated 1")) {
      if (performance.now() > giveUp) return false;
      await pause(LOOK_EVERY_MS);
    }
    try {
      rmdirSync(this.#path);
    } catch {
      return !existsSync(this.#path);
    }
    return true;
  }

  #set(file: string, value: number): void {
    writeFileSync(join(this.#path, file), String(value));
  }

  #try(file: string, value: string): void {
    try {
      writeFileSync(join(this.#path, file), value);
    } catch {
      // not on this kernel
    }
  }
}
