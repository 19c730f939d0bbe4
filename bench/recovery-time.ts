// A plane that starts on ten thousand open attempts: how long until it answers, and what it costs while it idles on them.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { newId } from "../plane/base/ids.ts";
import { placesIn } from "../plane/config/settings.ts";
import { openPostgresStore } from "../plane/store/dialects/postgres/store.ts";
import { openSqliteStore } from "../plane/store/dialects/sqlite/store.ts";
import type { Store } from "../plane/store/store.ts";
import { makeFolder, startPlane } from "../tests/harness/plane.ts";
import { startPostgres, type TestPostgres } from "../tests/harness/postgres.ts";
import { DIGEST, SPEC } from "../tests/store/samples.ts";
import { accept, fail, HOUR_MS, inParallel } from "./queue-store.ts";
import { treeCpuMs } from "./processes.ts";
import { spread, told, type Spread } from "./statistics.ts";

const ROUNDS = 3;
const WIDTH = 8;
/** Of a round: 10,000 open attempts in all. */
const WAITING = 4_000;
const WAITING_TOO_LONG = 1_000;
const HELD = 2_500;
const HELD_TOO_LONG = 2_500;
const OPEN = WAITING + WAITING_TOO_LONG + HELD + HELD_TOO_LONG;
const IDLE_MS = 10_000;
const SETTLE_MS = 2_000;
const TARGET_MS = 5_000;

interface RecoveryRow {
  readonly database: string;
  readonly open: number;
  readonly ready_ms: Spread;
  /** CPU time of the idle plane, in thousandths of one core. */
  readonly idle_cpu: Spread;
}

async function seed(store: Store): Promise<void> {
  const now = Date.now();
  await store.saveBundle({ customer: SPEC.customer, digest: DIGEST, files: [] });
  const hold = async (at: number, ttlMs: number): Promise<void> => {
    const claimed = await store.claimNext({
      runner: newId("rnr"),
      claimId: newId("clm"),
      ttlMs,
      jobTypes: [SPEC.job_type],
      now: at,
    });
    if (claimed === null) throw new Error("nothing to claim");
    const { id: attemptId, epoch } = claimed.attempt;
    for (const to of ["preparing", "running"] as const) {
      await store.applyStep({ attemptId, command: { do: "move", epoch, to }, now: at });
    }
  };
  await inParallel(HELD + HELD_TOO_LONG, WIDTH, () => accept(store, now));
  await inParallel(HELD, WIDTH, () => hold(now, HOUR_MS));
  await inParallel(HELD_TOO_LONG, WIDTH, () => hold(now - 60_000, 30_000));
  await inParallel(WAITING, WIDTH, () => accept(store, now));
  await inParallel(WAITING_TOO_LONG, WIDTH, () => accept(store, now - HOUR_MS - 1));
}

/** Starts a plane on `home` and answers how long it took until ready, and what it used while idle. */
async function start(home: string, more: readonly string[]) {
  const begun = performance.now();
  await using plane = await startPlane({
    home,
    runner: false,
    // The leases stay as they are while the plane is looked at.
    arguments: ["--no-runner", "--log", "error", "--lease-ttl-s", "3600", ...more],
  });
  const readyMs = performance.now() - begun;
  await delay(SETTLE_MS);
  const before = treeCpuMs(plane.process.pid ?? 0);
  await delay(IDLE_MS);
  return { readyMs, idleCpu: ((treeCpuMs(plane.process.pid ?? 0) - before) * 1000) / IDLE_MS };
}

interface Prepared {
  readonly database: string;
  readonly open: number;
  /** Makes the database anew in a fresh folder and answers the options that name it. */
  readonly copy: (home: string) => readonly string[];
}

async function fill(store: Store, open: number): Promise<void> {
  if (open > 0) await seed(store);
  await store.close();
}

/** Filled once; every round starts on a copy. */
async function onSqlite(folder: string, open: number): Promise<Prepared> {
  const path = join(folder, `${open}.sqlite`);
  await fill(await openSqliteStore(path, fail), open);
  return {
    database: "SQLite",
    open,
    copy: (home) => {
      copyFileSync(path, placesIn(join(home, "state")).database);
      return [];
    },
  };
}

async function onPostgres(postgres: TestPostgres, open: number): Promise<Prepared> {
  const filled = postgres.createDatabase();
  await fill(await openPostgresStore(filled, fail), open);
  return {
    database: "PostgreSQL",
    open,
    copy: (home) => {
      const file = join(home, "database-url");
      writeFileSync(file, postgres.createDatabase(filled));
      return ["--database-file", file];
    },
  };
}

function once({ copy }: Prepared) {
  const home = makeFolder("bench-recovery");
  mkdirSync(join(home, "state"), { recursive: true });
  return start(home, copy(home));
}

export async function recoveryTime(): Promise<RecoveryRow[]> {
  await using postgres = await startPostgres();
  const folder = makeFolder("bench-recovery-filled");
  const cases = [
    await onSqlite(folder, 0),
    await onSqlite(folder, OPEN),
    await onPostgres(postgres, 0),
    await onPostgres(postgres, OPEN),
  ];
  const taken = cases.map((): Awaited<ReturnType<typeof once>>[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, prepared] of cases.entries()) taken[index]?.push(await once(prepared));
  }
  rmSync(folder, { recursive: true, force: true });
  return cases.map(({ database, open }, index) => ({
    database,
    open,
    ready_ms: spread((taken[index] ?? []).map(({ readyMs }) => readyMs)),
    idle_cpu: spread((taken[index] ?? []).map(({ idleCpu }) => idleCpu)),
  }));
}

export function recoveryTable(rows: readonly RecoveryRow[]): string {
  const lines = rows.map((row) => {
    const cells = [row.database, row.open, told(row.ready_ms, 0), told(row.idle_cpu, 0)];
    return `| ${cells.join(" | ")} |`;
  });
  const verdicts = rows
    .filter(({ open }) => open > 0)
    .map(({ database, ready_ms: ready }) => {
      const holds = ready.max <= TARGET_MS ? "holds" : "does not hold";
      return `- Target, ${database}: ready within ${TARGET_MS / 1000} s ${holds} (${told(ready, 0)} ms).`;
    });
  return [
    "| store | open attempts | ready after ms | idle CPU, thousandths of a core |",
    "|---|---|---|---|",
    ...lines,
    "",
    `n = ${ROUNDS}, each on a fresh copy of one filled database.`,
    "",
    ...verdicts,
  ].join("\n");
}
