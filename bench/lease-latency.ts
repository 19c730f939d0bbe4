// From an accepted job to its lease at a runner that waits: what the wake, the claim and two small answers take.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { newId } from "../plane/base/ids.ts";
import { compose } from "../plane/compose.ts";
import { placesIn, readSettings } from "../plane/config/settings.ts";
import { CLAIM_TOPIC } from "../plane/execution/dispatcher.ts";
import { createServer, listenLocally } from "../plane/http/server.ts";
import { createLog } from "../plane/telemetry/log.ts";
import { createPlaneClient } from "../runner/plane-client.ts";
import { startPlane } from "../tests/harness/plane.ts";
import { startPostgres } from "../tests/harness/postgres.ts";
import { aCompletion, DIGEST, SPEC } from "../tests/store/samples.ts";
import { accept, fail, registration } from "./queue-store.ts";
import { percentile } from "./statistics.ts";

const JOBS = 1_000;
const WARM_UP = 50;
const WAIT_MS = 20_000;
/** Until the next claim waits at the plane. */
const SETTLE_MS = 20;
const TARGET_MS = 10;

interface LatencyRow {
  readonly where: string;
  readonly n: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly max_ms: number;
}

/** A plane of this process, whose store and signals make the jobs as its routes would. */
async function openPlane(database: string | null) {
  const stateDir = mkdtempSync(join(tmpdir(), "aim-bench-plane-"));
  const file = join(stateDir, "database-url");
  if (database !== null) writeFileSync(file, database);
  const words = ["--state", stateDir, "--no-runner"];
  const settings = readSettings(
    database === null ? words : [...words, "--database-file", file],
    {},
  );
  const log = createLog("silent");
  const parts = await compose(settings, fail, log);
  const runners = createServer("runner", parts, log);
  const { runnerSocket } = placesIn(stateDir);
  await listenLocally(runners, runnerSocket);
  await parts.store.saveBundle({ customer: SPEC.customer, digest: DIGEST, files: [] });
  return {
    runnerSocket,
    file,
    offer: async (): Promise<number> => {
      await accept(parts.store, parts.clock.now());
      const accepted = performance.now();
      parts.signals.wake(CLAIM_TOPIC);
      return accepted;
    },
    close: async () => {
      await parts.dispatcher.stop();
      await runners.close();
      await parts.store.close();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

/** One job after another, each accepted while the runner waits. */
async function timesOf(socket: string, offer: () => Promise<number>): Promise<number[]> {
  const client = createPlaneClient({ socketPath: socket });
  const runner = newId("rnr");
  await client.register(registration(runner), null);
  const { signal } = new AbortController();
  const times: number[] = [];
  for (let turn = 0; turn < WARM_UP + JOBS; turn += 1) {
    const asked = { runner_instance_id: runner, claim_id: newId("clm"), wait_ms: WAIT_MS };
    const granted = client.claim(asked, signal).then((grant) => ({ grant, at: performance.now() }));
    await delay(SETTLE_MS);
    const accepted = await offer();
    const { grant, at } = await granted;
    if (grant?.kind !== "attempt") throw new Error("no attempt was handed out");
    if (turn >= WARM_UP) times.push(at - accepted);
    const base = aCompletion(grant.epoch);
    await client.complete(grant.attempt_id, {
      ...base,
      outcome: { ...base.outcome, verdict: "failed", effect: "none" },
      manifest: { ...base.manifest, attempt_id: grant.attempt_id },
    });
  }
  return times;
}

function rowOf(where: string, times: readonly number[]): LatencyRow {
  return {
    where,
    n: times.length,
    p50_ms: percentile(times, 0.5),
    p99_ms: percentile(times, 0.99),
    max_ms: percentile(times, 1),
  };
}

export async function leaseLatency(): Promise<LatencyRow[]> {
  const embedded = await openPlane(null);
  const alone = await timesOf(embedded.runnerSocket, embedded.offer);
  await embedded.close();
  await using postgres = await startPostgres();
  const first = await openPlane(postgres.createDatabase());
  const second = await startPlane({
    runner: false,
    arguments: ["--no-runner", "--database-file", first.file],
  });
  const across = await timesOf(placesIn(second.stateDir).runnerSocket, first.offer);
  await second[Symbol.asyncDispose]();
  await first.close();
  return [
    rowOf("SQLite, one plane", alone),
    rowOf("PostgreSQL, accepted by one plane, handed out by another", across),
  ];
}

export function latencyTable(rows: readonly LatencyRow[]): string {
  const lines = rows.map(
    ({ where, n, p50_ms: p50, p99_ms: p99, max_ms: max }) =>
      `| ${where} | ${n} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${max.toFixed(1)} |`,
  );
  const verdicts = rows.map(({ where, p99_ms: p99 }) => {
    const holds = p99 <= TARGET_MS ? "holds" : "does not hold";
    return `- Target, ${where}: p99 ≤ ${TARGET_MS} ms ${holds} (${p99.toFixed(1)} ms).`;
  });
  return [
    "| store | jobs | p50 ms | p99 ms | longest ms |",
    "|---|---|---|---|---|",
    ...lines,
    "",
    ...verdicts,
  ].join("\n");
}
