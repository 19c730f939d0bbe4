// Keeps one runner process beside an embedded plane. The two speak the runner protocol like any others.
import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";

const RUNNER = fileURLToPath(new URL("../runner/main.ts", import.meta.url));
const RESTART_MS = 1_000;

export interface EmbeddedRunner {
  /** Asks the runner to finish what it holds and waits until it is gone. */
  readonly stop: () => Promise<void>;
}

export function startEmbeddedRunner(stateDir: string, log: Logger): EmbeddedRunner {
  let stopping = false;
  let child: ChildProcess | null = null;
  let ended: Promise<void> = Promise.resolve();

  function start(): void {
    const runner = spawn(process.execPath, [RUNNER, "--state", stateDir], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    child = runner;
    ended = new Promise((resolve) => {
      runner.once("exit", (code, signal) => {
        log.info({ code: "runner_ended", status: code, signal }, "the embedded runner has ended");
        child = null;
        resolve();
        // A runner that refuses to work says why and ends; trying again at once would only repeat it.
        if (!stopping) setTimeout(() => !stopping && start(), RESTART_MS).unref();
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
