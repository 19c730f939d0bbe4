// Starts the caller's own plane when none answers. The only place of the CLI that starts processes.
import { spawn } from "node:child_process";
import { closeSync, constants, mkdirSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "@aim/sdk";
import { EXIT } from "./exit-codes.ts";
import { CliFault } from "./fault.ts";
import { visible } from "./render/escape.ts";
import { planeEnvironment, type Places } from "./settings.ts";

const PLANE_ENTRY = fileURLToPath(new URL("../../plane/main.ts", import.meta.url));
const ACCEPTANCE_ENTRY = fileURLToPath(new URL("../../tests/acceptance/main.ts", import.meta.url));

const IDLE_EXIT_S = 600;
const START_MS_MAX = 20_000;
const POLL_MS = 50;
/** A lock older than this belongs to a start that hangs or to a process id that was given out again. */
const LOCK_MS_MAX = 60_000;
const LOG_TAIL_BYTES = 64 * 1024;
const LOG_CODES_MAX = 5;

export interface StartOptions {
  /** The plane's entry; a test names another. */
  readonly entry?: string;
}

/**
 * Gives back once a plane answers on the socket, starting one where none does and the caller named no socket.
 * Two callers at once get one plane. Throws CliFault 69 when none comes up.
 */
export async function ensurePlane(
  places: Places,
  options: StartOptions = {},
): Promise<"found" | "started"> {
  const client = createClient({ socketPath: places.socketPath });
  if (await client.health()) return "found";
  if (places.socketGiven) {
    throw new CliFault(EXIT.unavailable, "No plane answers on that socket.");
  }
  prepareStateDir(places.stateDir);
  const deadline = performance.now() + START_MS_MAX;
  const lockPath = join(places.stateDir, "aimd.starting");
  while (!(await takeLock(lockPath))) {
    if (await client.health()) return "found";
    if (performance.now() > deadline) {
      throw new CliFault(
        EXIT.unavailable,
        "Another aimctl is starting the plane and does not get it up.",
      );
    }
    await pause(POLL_MS);
  }
  try {
    // The other caller may have finished between our first question and our lock.
    if (await client.health()) return "found";
    await startPlane(places, options.entry ?? PLANE_ENTRY, () => client.health());
    return "started";
  } finally {
    rmSync(lockPath, { force: true });
  }
}

/** Creates the folder for its owner alone. Throws CliFault 69 when it is somebody else's or open to others. */
function prepareStateDir(stateDir: string): void {
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  } catch {
    throw new CliFault(
      EXIT.unavailable,
      `The state folder ${visible(stateDir)} cannot be created.`,
    );
  }
  const fault = stateDirFault(stateDir);
  if (fault !== null) throw new CliFault(EXIT.unavailable, fault);
}

/** What is wrong with the state folder as a place for secrets' neighbours, or null. */
export function stateDirFault(stateDir: string): string | null {
  const stats = statSync(stateDir, { throwIfNoEntry: false });
  if (stats === undefined) return `The state folder ${visible(stateDir)} does not exist yet.`;
  if (!stats.isDirectory()) return `The state folder ${visible(stateDir)} is not a folder.`;
  if (stats.uid !== process.getuid?.()) {
    return `The state folder ${visible(stateDir)} belongs to another user.`;
  }
  if ((stats.mode & 0o077) !== 0) {
    return `The state folder ${visible(stateDir)} is open to others: chmod 700 it.`;
  }
  return null;
}

async function takeLock(path: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", 0o600);
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
  }
  // Should two callers clear the same stale lock at once, the plane's own lock on its store decides.
  if (isStale(path)) rmSync(path, { force: true });
  return false;
}

function isStale(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  const age = Date.now() - stats.mtimeMs;
  if (age > LOCK_MS_MAX) return true;
  try {
    const owner = Number(readFileSync(path, "utf8"));
    // A lock without its owner's id yet is being written.
    return owner > 0 ? !isAlive(owner) : age > 1000;
  } catch {
    return false;
  }
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return isCode(error, "EPERM");
  }
}

async function startPlane(
  places: Places,
  entry: string,
  answers: () => Promise<boolean>,
): Promise<void> {
  const logPath = logOf(places.stateDir);
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const log = openSync(logPath, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  const logStart = statSync(logPath).size;
  const words = [entry, "serve", "--state", places.stateDir, "--idle-exit-s", String(IDLE_EXIT_S)];
  const plane = spawn(process.execPath, words, {
    cwd: places.stateDir,
    detached: true,
    env: planeEnvironment(),
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  let ended = false;
  plane.once("error", () => (ended = true));
  plane.once("exit", () => (ended = true));
  const deadline = performance.now() + START_MS_MAX;
  while (!(await answers())) {
    if (ended || performance.now() > deadline) {
      if (!ended) plane.kill("SIGTERM");
      throw new CliFault(EXIT.unavailable, startFault(logPath, logStart));
    }
    await pause(POLL_MS);
  }
  plane.unref();
}

function startFault(logPath: string, logStart: number): string {
  const codes = logCodes(logPath, logStart);
  const said = codes.length === 0 ? "" : ` Its last words: ${codes.join(", ")}.`;
  return `The plane did not come up.${said} Its log is ${visible(logPath)}.`;
}

function logOf(stateDir: string): string {
  return join(stateDir, "aimd.log");
}

/** The newest codes in the log of the plane in that state folder; none where there is no log. */
export function lastLogCodes(stateDir: string): string[] {
  return logCodes(logOf(stateDir), 0);
}

/** The codes in the newest log lines. Only codes: a message could hold anything. */
function logCodes(logPath: string, logStart: number): string[] {
  const text = logTail(logPath, logStart);
  const codes = Array.from(
    text.matchAll(/"code":"([A-Za-z][A-Za-z0-9_]{1,63})"|code: '([A-Z][A-Z0-9_]{1,63})'/g),
  )
    .map(([, json, dumped]) => json ?? dumped)
    .filter((code) => code !== undefined);
  return [...new Set(codes)].slice(-LOG_CODES_MAX);
}

function logTail(logPath: string, logStart: number): string {
  try {
    return readFileSync(logPath).subarray(logStart).subarray(-LOG_TAIL_BYTES).toString("utf8");
  } catch {
    return "";
  }
}

/** Runs the acceptance suite on the caller's terminal. Gives its exit status, or null where it is not installed. */
export async function runAcceptance(places: Places): Promise<number | null> {
  if (statSync(ACCEPTANCE_ENTRY, { throwIfNoEntry: false }) === undefined) return null;
  const suite = spawn(process.execPath, [ACCEPTANCE_ENTRY, "--state", places.stateDir], {
    env: planeEnvironment(),
    stdio: "inherit",
  });
  return new Promise((resolve) => {
    suite.once("error", () => resolve(EXIT.other));
    suite.once("exit", (code) => resolve(code ?? EXIT.other));
  });
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
