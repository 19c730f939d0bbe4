// Looks into sandboxes from outside: which processes share one, and how much memory the runner ever held.
import { readFileSync, readlinkSync } from "node:fs";
import { allPids, commandOf, descendantsOf, pidsWith } from "../harness/processes.ts";

function namespaceOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return null;
  }
}

/** The process namespace of the sandbox in which a text stands on a command line; null when in none but ours. */
export function sandboxWith(text: string): string | null {
  const found = pidsWith(text).map(namespaceOf);
  return (
    found.find((namespace) => namespace !== null && namespace !== namespaceOf(process.pid)) ?? null
  );
}

/** Command lines of the processes in a namespace. */
export function commandsIn(namespace: string): string[] {
  return allPids()
    .filter((pid) => namespaceOf(pid) === namespace)
    .map(commandOf);
}

/** Most memory in bytes that the runner below a plane ever held. */
export function peakOfRunner(planePid: number): number {
  const runner = descendantsOf(planePid).find((pid) => commandOf(pid).includes("runner/main.ts"));
  if (runner === undefined) throw new Error("the plane has no runner");
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${runner}/status`, "utf8"))?.[1];
  if (kib === undefined) throw new Error("the runner has no memory");
  return Number(kib) * 1024;
}
