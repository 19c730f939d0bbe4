// Runs named steps one after another and says how long each took. The first that fails ends the run with its output.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly cwd?: string;
  /** Show the output as it comes instead of only when the step fails. */
  readonly loud?: boolean;
}

/** A program that npm installed. */
export function npmProgram(name: string): string {
  return join(ROOT, "node_modules/.bin", name);
}

/** A program of the environment for checks and tests. */
export function pythonProgram(name: string): string {
  return join(ROOT, ".aim/dev-venv/bin", name);
}

export function runSteps(steps: readonly Step[]): void {
  for (const step of steps) {
    const start = performance.now();
    const [program = "", ...args] = step.command;
    const done = spawnSync(program, args, {
      cwd: step.cwd ?? ROOT,
      stdio: step.loud === true ? ["ignore", "inherit", "inherit"] : ["ignore", "pipe", "pipe"],
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
    });
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    if (done.status === 0) {
      console.log(`ok     ${step.name} (${seconds} s)`);
      continue;
    }
    console.log(`FAILED ${step.name} (${seconds} s): ${step.command.join(" ")}`);
    console.log(`${done.stdout ?? ""}${done.stderr ?? ""}${done.error?.message ?? ""}`);
    process.exit(1);
  }
}
