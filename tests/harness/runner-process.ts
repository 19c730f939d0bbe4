// A real aim-runner as a process of its own, for tests that start it beside a plane or on "another machine".
import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

const RUNNER = fileURLToPath(new URL("../../runner/main.ts", import.meta.url));

export interface RunnerProcess {
  readonly process: ChildProcess;
  readonly logText: () => string;
  /** The exit status; null for one that was killed. */
  readonly ended: Promise<number | null>;
}

/** Starts it with these arguments and collects its log. */
export function startRunner(args: readonly string[]): RunnerProcess {
  const runner = spawn(process.execPath, [RUNNER, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  runner.stderr.on("data", (piece: Buffer) => (log += piece.toString()));
  const ended = new Promise<number | null>((resolve) => runner.once("close", resolve));
  return { process: runner, logText: () => log, ended };
}
