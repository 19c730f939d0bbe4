// The machine that the figures come from, in one line. Names no path and no host.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { ANSIBLE_CORE_VERSION } from "@aim/contract";
import type { Place } from "./place.ts";

export interface Environment {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memory_gib: number;
  readonly kernel: string;
  readonly system: string;
  readonly node: string;
  readonly python: string;
  readonly ansible_core: string;
  /** One-minute load before the first measurement. */
  readonly load: number;
}

export function environmentOf(place: Place): Environment {
  const version = "import platform; print(platform.python_version())";
  const system = /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
  return {
    date: new Date().toISOString().slice(0, 10),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memory_gib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    system: system ?? "unknown",
    node: process.versions.node,
    python: execFileSync(place.python, ["-c", version], { encoding: "utf8" }).trim(),
    ansible_core: ANSIBLE_CORE_VERSION,
    load: Number((loadavg()[0] ?? Number.NaN).toFixed(1)),
  };
}

export function environmentLine(environment: Environment): string {
  const { cpu, cores, memory_gib: memory, kernel, system, load } = environment;
  const versions = `Node ${environment.node}, Python ${environment.python}, ansible-core ${environment.ansible_core}`;
  return `${environment.date}: ${cpu}, ${cores} cores, ${memory} GiB, ${system}, Linux ${kernel}, ${versions}; load ${load} at the start.`;
}
