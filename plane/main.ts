#!/usr/bin/env node
// aimd: the plane. Decides and stores; never runs a tool.
import { mkdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { compose } from "./compose.ts";
import { placesIn, readSettings, USAGE, UsageError, type Settings } from "./config/settings.ts";
import { startEmbeddedRunner } from "./embedded-runner.ts";
import { watchIdleness } from "./idleness.ts";
import { createServer, listenLocally } from "./http/server.ts";
import { lockFolder } from "./store/dialects/sqlite/open.ts";
import { StoreRefused } from "./store/refused.ts";
import { createLog } from "./telemetry/log.ts";

/** A runner that falls silent in the middle of a call is not waited for any longer. */
const RUNNER_CALLS_MS = 5_000;
const EXIT = { ok: 0, defect: 1, usage: 64, refused: 69 } as const;

async function serve(settings: Settings): Promise<void> {
  // Nothing of the state is for anybody else.
  process.umask(0o077);
  mkdirSync(settings.stateDir, { recursive: true, mode: 0o700 });
  const places = placesIn(settings.stateDir);
  const log = createLog(settings.logLevel);
  const unlock = lockFolder(places.lock);
  const fail = (error: unknown) => {
    log.fatal({ err: error, code: "internal" }, "the plane ends: memory is no truth");
    process.exit(EXIT.defect);
  };
  const parts = await compose(settings, fail, log);
  await parts.dispatcher.recover();
  parts.sealer.recover();
  const faces = [
    "local",
    "runner",
    ...(settings.listen === null ? [] : (["tcp"] as const)),
  ] as const;
  const [clients, runners, tcp] = faces.map((face) => createServer(face, parts, log));
  if (clients === undefined || runners === undefined) throw new Error("no server");
  await listenLocally(runners, places.runnerSocket);
  await listenLocally(clients, places.clientSocket);
  if (tcp !== undefined && settings.listen !== null) await tcp.listen(settings.listen);
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
    await Promise.race([runners.close(), delay(RUNNER_CALLS_MS)]);
    await parts.sealer.stop();
    await parts.outbox.stop();
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

const [command, ...argv] = process.argv.slice(2);
try {
  if (command !== "serve") throw new UsageError(`there is no command ${command ?? ""}`);
  await serve(readSettings(argv, process.env));
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
