// CPU time of a tree of processes that live on: the product's plane, its runner and all that they have waited for.
import { readdirSync, readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100;

interface Entry {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

/** Fields of proc_pid_stat(5) after the name, which may hold anything. */
function entryOf(pid: number): Entry | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15);
    return { pid, parent: fields[1] ?? 0, ticks: user + system + childUser + childSystem };
  } catch {
    return null;
  }
}

/** User and system time in ms of a process, its living descendants and every child that they have waited for. */
export function treeCpuMs(root: number): number {
  const entries = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => entryOf(Number(name)))
    .filter((entry) => entry !== null);
  const inTree = new Set([root]);
  for (let before = 0; before !== inTree.size;) {
    before = inTree.size;
    for (const { pid, parent } of entries) if (inTree.has(parent)) inTree.add(pid);
  }
  const ticks = entries.filter(({ pid }) => inTree.has(pid)).map((entry) => entry.ticks);
  return (ticks.reduce((sum, own) => sum + own, 0) * 1000) / TICKS_PER_SECOND;
}
