// Processes of the product that may be killed at any named point. What they leave stays for the next one.
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const KILL_AT = pathToFileURL(at("kill-at.ts")).href;

/** A named point, and how many times the process comes to it before it dies there. */
export interface KillAt<P extends string = string> {
  readonly point: P;
  readonly times: number;
}

export interface Launched {
  readonly pid: number;
  /** False for a process that ended before it was ready. */
  readonly ready: Promise<boolean>;
  /** The signal that ended it, or its exit status. */
  readonly ended: Promise<NodeJS.Signals | number>;
  readonly kill: (signal: NodeJS.Signals) => void;
}

export interface Launching {
  readonly killAt?: KillAt | null;
  readonly env?: Readonly<Record<string, string>>;
  /** Modules loaded before the program. */
  readonly preload?: readonly string[];
  readonly arguments?: readonly string[];
}

/** A plane without a runner of its own, on the state in `home`. */
export function launchPlane(home: string, how: Launching = {}): Launched {
  const own = ["serve", "--state", join(home, "state"), "--no-runner", "--log", "warn"];
  return launch(at("../../plane/main.ts"), home, {
    ...how,
    arguments: [...own, ...(how.arguments ?? [])],
  });
}

/** A runner of the plane on the state in `home`. */
export function launchRunner(home: string, how: Launching = {}): Launched {
  const own = ["--state", join(home, "state")];
  return launch(at("../../runner/main.ts"), home, {
    ...how,
    arguments: [...own, ...(how.arguments ?? [])],
  });
}

function launch(program: string, home: string, how: Launching): Launched {
  mkdirSync(home, { recursive: true });
  const log = openSync(join(home, "processes.log"), "a");
  const { killAt = null, preload = [] } = how;
  const imports = (killAt === null ? preload : [...preload, KILL_AT]).flatMap((url) => [
    "--import",
    url,
  ]);
  const child = spawn(process.execPath, [...imports, program, ...(how.arguments ?? [])], {
    stdio: ["ignore", "pipe", log],
    env: {
      ...process.env,
      ...how.env,
      ...(killAt === null ? {} : { AIM_KILL_AT: `${killAt.point}:${killAt.times}` }),
    },
  });
  closeSync(log);
  const ended = new Promise<NodeJS.Signals | number>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? code ?? -1));
  });
  const ready = new Promise<boolean>((resolve) => {
    child.stdout?.once("data", () => resolve(true));
    void ended.then(() => resolve(false));
  });
  return { pid: child.pid ?? 0, ready, ended, kill: (signal) => void child.kill(signal) };
}
