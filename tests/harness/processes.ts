// Looks at the machine's processes, for tests that must show that nothing was started or left.
import { readdirSync, readFileSync } from "node:fs";

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // Gone in the meantime.
    return "";
  }
}

export function allPids(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** The command line with its words apart by blanks; empty for one that is gone or a kernel thread. */
export function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
}

export function environmentOf(pid: number): string {
  return read(`/proc/${pid}/environ`);
}

function parentOf(pid: number): number {
  const facts = read(`/proc/${pid}/stat`);
  return Number(facts.slice(facts.lastIndexOf(")") + 2).split(" ")[1] ?? 0);
}

/** Every process below this one, the nearest first. */
export function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const one of allPids()) {
    const parent = parentOf(one);
    children.set(parent, [...(children.get(parent) ?? []), one]);
  }
  const found: number[] = [];
  const open = [...(children.get(pid) ?? [])];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    found.push(next);
    open.push(...(children.get(next) ?? []));
  }
  return found;
}

/** The pids whose command line holds the text, this process excepted. */
export function pidsWith(text: string): number[] {
  return allPids().filter((pid) => pid !== process.pid && commandOf(pid).includes(text));
}
