#!/usr/bin/env -S node --max-semi-space-size=8
// aimd: the plane. Decides and stores; never runs a tool. A small young generation: thousands of idle streams are opened
// once, and what that left behind in a large one would stay resident.
import { mkdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { BackupReport } from "@aim/contract";
import { JOB_TYPES } from "@aim/drivers/schemas";
import { wallNow } from "./base/clock.ts";
import { backupCommand, restoreCommand } from "./backup/commands.ts";
import { compose, openRunnerTokens, type Composed } from "./compose.ts";
import {
  placesIn,
  readBackupWish,
  readDatabasePlace,
  readRestoreWish,
  readSettings,
  readTokenRequest,
  USAGE,
  UsageError,
  type DatabasePlace,
  type Settings,
  type TokenRequest,
} from "./config/settings.ts";
import { startEmbeddedRunner } from "./embedded-runner.ts";
import { watchIdleness } from "./idleness.ts";
import { LOCAL_NAME } from "./http/runner-guard.ts";
import { createServer, listenLocally } from "./http/server.ts";
import { migrateAt } from "./store/dialects/postgres/store.ts";
import { migrateFile } from "./store/dialects/sqlite/migrate.ts";
import { lockFolder } from "./store/dialects/sqlite/open.ts";
import { StoreRefused } from "./store/refused.ts";
import { createLog } from "./telemetry/log.ts";

/** A runner that falls silent in the middle of a call is not waited for any longer. */
const RUNNER_CALLS_MS = 5_000;
const EXIT = { ok: 0, defect: 1, usage: 64, refused: 69 } as const;

function makeStateDir(stateDir: string): void {
  // Nothing of the state is for anybody else.
  process.umask(0o077);
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
}

/** Needs no plane and disturbs none: a token is checked by its signature. */
function printRunnerToken({ stateDir, ttlMs, ...enrolment }: TokenRequest): void {
  makeStateDir(stateDir);
  const token = openRunnerTokens(stateDir, wallNow).enrol(enrolment, ttlMs);
  process.stdout.write(`${token}\n`);
}

/** Prints what the schema was and what it is now. A running plane keeps its SQLite file: it is refused then. */
async function migrate({ stateDir, database }: DatabasePlace): Promise<void> {
  makeStateDir(stateDir);
  const places = placesIn(stateDir);
  const change =
    database === null
      ? await migrateFile(places.database, lockFolder(places.lock))
      : await migrateAt(database);
  process.stdout.write(`${JSON.stringify(change)}\n`);
}

function tell(report: BackupReport): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
  if (report.database === "sqlite") return;
  process.stderr.write(
    "aimd: the rows are in PostgreSQL: take them with pg_dump before the backup and bring them back with pg_restore\n",
  );
}

async function serve(settings: Settings): Promise<void> {
  makeStateDir(settings.stateDir);
  const places = placesIn(settings.stateDir);
  const log = createLog(settings.logLevel);
  const unlock = lockFolder(places.lock);
  const fail = (error: unknown) => {
    log.fatal({ err: error, code: "internal" }, "the plane ends: memory is no truth");
    process.exit(EXIT.defect);
  };
  const parts = await compose(settings, fail, log);
  await parts.dispatcher.recover();
  await parts.drafts.recover(await parts.store.liveAttempts());
  parts.sealer.recover();
  const clients = createServer("local", parts, log);
  const runners = createServer("runner", parts, log);
  await listenLocally(runners, places.runnerSocket);
  await listenLocally(clients, places.clientSocket);
  const tcp = await listenForClients(settings.listen, parts, log);
  const remote = await listenForRunners(settings.runnerListen, parts, log);
  parts.dispatcher.watch(fail);
  parts.outbox.start(fail);
  const runner = settings.embeddedRunner ? startEmbeddedRunner(settings.stateDir, log) : null;

  let stopping = false;
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    parts.dispatcher.stopAdmitting();
    await clients.close();
    await tcp?.close();
    await runner?.stop();
    await parts.dispatcher.stop();
    const closed = Promise.all([runners.close(), remote?.close()]);
    await Promise.race([closed, delay(RUNNER_CALLS_MS)]);
    await parts.sealer.stop();
    await parts.outbox.stop();
    await parts.traces?.stop();
    await parts.store.close();
    unlock();
    process.exit(EXIT.ok);
  };
  process.on("SIGTERM", () => void stop());
  process.on("SIGINT", () => void stop());
  if (settings.idleExitMs !== null) {
    const watched = { app: clients, store: parts.store, idleMs: settings.idleExitMs };
    watchIdleness(watched, () => void stop());
  }
  process.stdout.write(`${JSON.stringify({ ready: true, socket: places.clientSocket })}\n`);
}

async function listenForClients(
  at: Settings["listen"],
  parts: Composed,
  log: Logger,
): Promise<ReturnType<typeof createServer> | null> {
  if (at === null) return null;
  const server = createServer({ clients: { tls: at.tls } }, parts, log);
  await server.listen({ host: at.host, port: at.port });
  const code = await parts.logins.firstCode();
  // The one secret that this process ever prints: whoever reads its output owns the installation anyway.
  if (code !== null) {
    process.stdout.write(`first administrator: aimctl login --setup ${code}\n`);
  }
  return server;
}

async function listenForRunners(
  at: Settings["runnerListen"],
  parts: Composed,
  log: Logger,
): Promise<ReturnType<typeof createServer> | null> {
  if (at === null || parts.guard === null) return null;
  const server = createServer({ tls: at.tls, guard: parts.guard }, parts, log);
  await server.listen({ host: at.host, port: at.port });
  return server;
}

const [command, ...argv] = process.argv.slice(2);
try {
  if (command === "runner-token") {
    const known = { jobTypes: [...JOB_TYPES.keys()], reserved: LOCAL_NAME };
    printRunnerToken(readTokenRequest(argv, process.env, known));
  } else if (command === "migrate") await migrate(readDatabasePlace(argv, process.env));
  else if (command === "backup") tell(await backupCommand(readBackupWish(argv, process.env)));
  else if (command === "restore") tell(await restoreCommand(readRestoreWish(argv, process.env)));
  else if (command === "serve") await serve(readSettings(argv, process.env));
  else throw new UsageError(`there is no command ${command ?? ""}`);
} catch (error) {
  process.exit(explain(error));
}

/** Says why the plane did not start, as a log line with a stable code; answers the exit status. */
function explain(error: unknown): number {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UsageError) {
    process.stderr.write(`aimd: ${message}\n\n${USAGE}`);
    return EXIT.usage;
  }
  const refused = error instanceof StoreRefused;
  const entry = { service: "aimd", code: refused ? "store_refused" : "internal", message };
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), ...entry })}\n`);
  return refused ? EXIT.refused : EXIT.defect;
}
