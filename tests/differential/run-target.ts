// Runs one integration target to its end or to its time limit, and leaves no process of it behind.
import { spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Corpus } from "./corpus.ts";

export interface TargetRun {
  readonly target: string;
  readonly seconds: number;
  /** Exit status; null when it was ended at its time limit. */
  readonly status: number | null;
  /** One folder for each call of ansible-playbook. */
  readonly records: readonly string[];
}

interface Call {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

/** Targets with a script run it; the others are roles, applied by a playbook of one role. */
function callOf({ targets }: Corpus, target: string, output: string): Call {
  if (existsSync(join(targets, target, "runme.sh"))) {
    return { program: "/bin/bash", args: ["./runme.sh"], cwd: join(targets, target) };
  }
  const playbook = join(targets, "..", `${target}.yml`);
  writeFileSync(
    playbook,
    JSON.stringify([{ hosts: "testhost", gather_facts: true, roles: [target] }]),
  );
  return {
    program: "ansible-playbook",
    args: ["-i", "inventory", playbook, "-e", `output_dir=${output}`],
    cwd: join(targets, ".."),
  };
}

export async function runTarget(
  corpus: Corpus,
  target: string,
  limitSeconds: number,
): Promise<TargetRun> {
  const output = join(corpus.home, "output", target);
  const records = join(corpus.home, "records", target);
  for (const folder of [output, records]) mkdirSync(folder, { recursive: true });
  const { program, args, cwd } = callOf(corpus, target, output);
  const log = openSync(join(corpus.home, "records", `${target}.log`), "w");
  const env: Record<string, string> = {
    ...corpus.env,
    OUTPUT_DIR: output,
    INVENTORY_PATH: join(corpus.home, "integration/inventory"),
    AIM_RECORDS: records,
  };
  if (program !== "/bin/bash") env["ANSIBLE_ROLES_PATH"] = corpus.targets;
  const start = performance.now();
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", log, log] });
  closeSync(log);
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  const timer = new AbortController();
  const late = delay(limitSeconds * 1000, "late", { signal: timer.signal }).catch(() => "late");
  const first = await Promise.race([exit, late]);
  timer.abort();
  await sweep(`AIM_RECORDS=${records}`);
  return {
    target,
    seconds: (performance.now() - start) / 1000,
    status: first === "late" ? null : (first as number | null),
    records: readdirSync(records).map((name) => join(records, name)),
  };
}

/** Workers are sessions of their own: what a target started is found by the variable that it alone has. */
async function sweep(mark: string): Promise<void> {
  for (const signal of ["SIGTERM", "SIGKILL", "SIGKILL"] as const) {
    const left = marked(mark);
    if (left.length === 0) return;
    for (const pid of left) end(pid, signal);
    await delay(1000);
  }
}

function marked(mark: string): number[] {
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const entries = readFileSync(`/proc/${name}/environ`, "latin1").split("\0");
      if (entries.includes(mark)) found.push(Number(name));
    } catch {
      // it has ended, or is not ours
    }
  }
  return found;
}

function end(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it has just ended by itself
  }
}
