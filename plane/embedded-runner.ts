// Keeps one runner process beside an embedded plane. The two speak the runner protocol like any others.
import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";

const RUNNER = fileURLToPath(new URL("../runner/main.ts", import.meta.url));
/** A runner that ends is started again after a pause that doubles while it keeps ending at once. */
const RESTART_MS = { first: 1_000, last: 60_000 } as const;
const LIVED_MS = 60_000;

export interface EmbeddedRunner {
  /** Asks the runner to finish what it holds and waits until it is gone. */
  readonly stop: () => Promise<void>;
}

export function startEmbeddedRunner(stateDir: string, log: Logger): EmbeddedRunner {
  let stopping = false;
  let pause: number = RESTART_MS.first;
  let child: ChildProcess | null = null;
  let ended: Promise<void> = Promise.resolve();

  function start(): void {
    const started = performance.now();
    const runner = spawn(process.execPath, [RUNNER, "--state", stateDir, "--embedded"], {
      // Standard input ends with this process, however it ends: the runner then finishes what it holds.
      stdio: ["pipe", "ignore", "inherit"],
    });
    child = runner;
    ended = new Promise((resolve) => {
      runner.once("exit", (code, signal) => {
        log.info({ code: "runner_ended", status: code, signal }, "the embedded runner has ended");
        child = null;
        resolve();
        const lived = performance.now() - started >= LIVED_MS;
        pause = lived ? RESTART_MS.first : Math.min(pause * 2, RESTART_MS.last);
        if (!stopping) setTimeout(() => stopping || start(), pause).unref();
      });
    });
  }

  start();
  return {
    stop: async () => {
      stopping = true;
      child?.kill("SIGTERM");
      await ended;
    },
  };
}
