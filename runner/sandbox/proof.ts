// SPDX-License-Identifier: Apache-2.0
// Who runs in a pid namespace, and killing all of it with proof.
// A namespace is known by its inode, which the kernel hands out again once the
// namespace is gone: whoever compares it must hold it open (`holdNamespace`).
import { closeSync, openSync, readFileSync, readdirSync, readlinkSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from boot to its start: with the boot id, one process for ever. */
  readonly start: string;
}

interface ProcessFacts extends ProcessIdentity {
  readonly state: string;
  readonly parent: number;
}

/** Where field 3, the state, lies once pid and name are cut away. */
const STATE = 0;
const PARENT = 1;
const START = 19;

export function bootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

export function processFacts(pid: number): ProcessFacts | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return null;
  }
  // The name may hold spaces and parentheses: fields count from the last one.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return {
    pid,
    start: fields[START] ?? "",
    state: fields[STATE] ?? "",
    parent: Number(fields[PARENT]),
  };
}

export function isAlive(identity: ProcessIdentity): boolean {
  const facts = processFacts(identity.pid);
  return (
    facts !== null && facts.start === identity.start && facts.state !== "Z" && facts.state !== "X"
  );
}

/** Inode of a process's pid namespace; null when it is gone or not ours to see. */
export function namespaceOf(pid: number, link: "pid" | "pid_for_children" = "pid"): string | null {
  try {
    return /\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/ns/${link}`))?.[1] ?? null;
  } catch {
    return null;
  }
}

/** Keeps the inode from being used again. Returns what lets go of it. */
export function holdNamespace(pid: number): () => void {
  const descriptor = openSync(`/proc/${pid}/ns/pid`, "r");
  let held = true;
  return () => {
    if (held) closeSync(descriptor);
    held = false;
  };
}

/** Running processes in the namespace, or about to make children in it. */
export function processesIn(namespace: string): number[] {
  const pids = readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number);
  return pids.filter((pid) => {
    const member =
      namespaceOf(pid) === namespace || namespaceOf(pid, "pid_for_children") === namespace;
    return member && !["Z", "X"].includes(processFacts(pid)?.state ?? "X");
  });
}

export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already, which is what we want.
  }
}

export interface Proof {
  readonly killConfirmed: boolean;
  readonly leftovers: number;
}

const PATIENCE_MS = 1_000;
const LOOK_EVERY_MS = 3;

/**
 * SIGKILLs the namespace's first process (the kernel then kills the rest) and
 * everything found in it, until nothing is found or a second has passed.
 * The caller holds the namespace.
 */
export async function killNamespace(init: ProcessIdentity, namespace: string): Promise<Proof> {
  const giveUp = performance.now() + PATIENCE_MS;
  for (;;) {
    if (isAlive(init) && namespaceOf(init.pid) === namespace) killProcess(init.pid);
    const left = processesIn(namespace);
    if (left.length === 0) return { killConfirmed: true, leftovers: 0 };
    if (performance.now() > giveUp) return { killConfirmed: false, leftovers: left.length };
    // A process whose namespace we could read is in the held namespace: ours.
    for (const pid of left) if (namespaceOf(pid) === namespace) killProcess(pid);
    await pause(LOOK_EVERY_MS);
  }
}
