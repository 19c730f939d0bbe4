// A real plane with a real runner in a folder of its own, for tests that need the whole.
import { spawn, type ChildProcess } from "node:child_process";
import {
  mkdtempSync,
  mkdirSync,
  rmSync,
  writeFileSync,
  chmodSync,
  openSync,
  closeSync,
  readFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createClient, type Client } from "@aim/sdk";
import type { Prepared, RunEvent, RunRequest, RunResult } from "@aim/contract";
import { AIMD, nodeOptions } from "./entry.ts";

const READY_MS = 60_000;

export interface TestPlane {
  readonly client: Client;
  readonly stateDir: string;
  readonly catalogDir: string;
  readonly socketPath: string;
  readonly process: ChildProcess;
  readonly logText: () => string;
  /** Ends plane and runner and removes the folder. */
  readonly [Symbol.asyncDispose]: () => Promise<void>;
  /** Ends them and keeps the folder, for a restart on the same state or a look at what is stored. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>;
}

export interface TestPlaneOptions {
  /** Use this folder instead of a fresh one. */
  readonly home?: string;
  readonly arguments?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Wait until a runner is ready; true by default. */
  readonly runner?: boolean;
}

/** A fresh folder that every uid may walk through, as real state folders' parents are. */
export function makeFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `aim-${name}-`));
  chmodSync(folder, 0o755);
  return folder;
}

export async function startPlane(options: TestPlaneOptions = {}): Promise<TestPlane> {
  const home = options.home ?? makeFolder("plane");
  const stateDir = join(home, "state");
  const catalogDir = join(home, "catalog");
  mkdirSync(catalogDir, { recursive: true });
  const logFile = join(home, "aimd.log");
  const log = openSync(logFile, "a");
  const child = spawn(
    process.execPath,
    [
      ...nodeOptions(AIMD),
      AIMD,
      "serve",
      "--state",
      stateDir,
      "--catalog",
      catalogDir,
      ...(options.arguments ?? []),
    ],
    { stdio: ["ignore", "pipe", log], env: { ...process.env, ...options.env } },
  );
  closeSync(log);
  const logText = () => readFileSync(logFile, "utf8");
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  const socketPath = join(stateDir, "aimd.sock");
  const client = createClient({ socketPath });
  try {
    await until(READY_MS, async () => {
      if (child.exitCode !== null) throw new Error(`aimd ended: ${logText()}`);
      if (!(await client.health())) return false;
      return options.runner === false || (await client.capabilities()).runtime_ready;
    });
  } catch (error) {
    await stop("SIGKILL");
    throw error;
  }
  return {
    client,
    stateDir,
    catalogDir,
    socketPath,
    process: child,
    logText,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Asks until the answer is true. Throws when that takes longer than `ms`. */
export async function until(ms: number, ask: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + ms;
  while (!(await ask())) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms`);
    await delay(20);
  }
}

/** Writes files, given by their relative paths. */
export function writeTree(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): void {
  for (const [path, content] of Object.entries(files)) {
    const place = join(folder, path);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, content);
  }
}

export interface Ran {
  readonly prepared: Prepared;
  readonly events: readonly RunEvent[];
  readonly result: RunResult;
}

export interface RunOptions {
  readonly credentials?: Readonly<Record<string, string>>;
  readonly onEvent?: (event: RunEvent) => void | Promise<void>;
}

/** Prepares, executes and follows one request to its end. */
export async function runRequest(
  client: Client,
  request: RunRequest,
  options: RunOptions = {},
): Promise<Ran> {
  const prepared = await client.prepare({ progress_mode: "detail", ...request });
  const { credentials } = options;
  const credentialsId =
    credentials === undefined ? null : await client.credentials({ ...credentials });
  const events: RunEvent[] = [];
  const lines = client.execute({
    request: prepared.request,
    revision: prepared.revision,
    ...(credentialsId === null ? {} : { credentials_id: credentialsId }),
  });
  for await (const line of lines) {
    if (line.type === "response") return { prepared, events, result: line.response };
    events.push(line.event);
    await options.onEvent?.(line.event);
  }
  throw new Error("the run ended without a result");
}

export function eventsOf<K extends RunEvent["kind"]>(
  events: readonly RunEvent[],
  kind: K,
): Extract<RunEvent, { kind: K }>[] {
  return events.filter((event): event is Extract<RunEvent, { kind: K }> => event.kind === kind);
}
