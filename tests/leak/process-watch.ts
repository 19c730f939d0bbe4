// Samples what every process of the machine shows in its command line and environment, those inside sandboxes excepted.
import { readlinkSync } from "node:fs";
import { allPids, commandOf, environmentOf } from "../harness/processes.ts";

export interface ProcessWatch {
  /** Everything that was shown so far, each text once. */
  readonly shown: () => string;
  readonly samples: () => number;
  readonly [Symbol.dispose]: () => void;
}

const EVERY_MS = 100;

function namespaceOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return "";
  }
}

export function watchProcesses(): ProcessWatch {
  const texts = new Set<string>();
  const own = namespaceOf(process.pid);
  let samples = 0;
  const timer = setInterval(() => {
    samples += 1;
    for (const pid of allPids()) {
      // The tool's own tree has a namespace of its own; this process holds every secret in its memory.
      if (pid === process.pid || namespaceOf(pid) !== own) continue;
      texts.add(commandOf(pid));
      texts.add(environmentOf(pid));
    }
  }, EVERY_MS);
  return {
    shown: () => [...texts].join("\n"),
    samples: () => samples,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
