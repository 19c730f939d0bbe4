import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { expectAllKept, LONG, SEED, startLoad } from "../crash/campaign.ts";
import { createPlace, type Place } from "../crash/place.ts";
import { makeFolder, until } from "../harness/plane.ts";
import { startPostgres } from "../harness/postgres.ts";
import { createChance } from "../simulation/chance.ts";

const CLIENTS = 4;
const JOBS_EACH = LONG ? 500 : 60;
const JOBS = CLIENTS * JOBS_EACH;
const RUNNERS = 8;
const LOAD_MS = 20 * 60_000;

/** Planes of one database share the seal's key, the callbacks' secret and the kept bytes. */
async function startBoth(first: Place, second: Place): Promise<void> {
  first.start();
  await first.up();
  mkdirSync(second.stateDir, { recursive: true, mode: 0o700 });
  for (const name of ["seal.key", "webhook.key"]) {
    copyFileSync(join(first.stateDir, name), join(second.stateDir, name));
  }
  mkdirSync(join(first.stateDir, "blobs"), { recursive: true, mode: 0o700 });
  symlinkSync(join(first.stateDir, "blobs"), join(second.stateDir, "blobs"));
  second.start();
  await second.up();
}

test(
  `two planes, ${RUNNERS} runners, ${JOBS} jobs: one plane is killed and every job ends once (AIM_TEST_SEED=${SEED})`,
  { timeout: LOAD_MS },
  async () => {
    await using postgres = await startPostgres();
    const url = postgres.createDatabase();
    const rows = (query: string) => postgres.rows(url, query);
    const home = makeFolder("many-planes");
    const file = join(home, "database-url");
    writeFileSync(file, url, { mode: 0o600 });
    const own = ["--database-file", file, "--lease-ttl-s", "3", "--allow-callback-loopback"];
    const first = createPlace(join(home, "first"), own);
    const second = createPlace(join(home, "second"), own);
    try {
      await startBoth(first, second);
      const chance = createChance(SEED);
      const places = [first, second] as const;
      const how = { places, chance, runners: RUNNERS, clients: CLIENTS, jobs: JOBS_EACH } as const;
      await using load = await startLoad(how);
      const { told } = load;
      await until(LOAD_MS, () => told.ended.size >= JOBS / 3);
      expect(await first.stop("SIGKILL")).toBe("SIGKILL");
      const before = told.grants.length;
      await load.finishSubmitted();
      expect(told.jobs.size).toBe(JOBS);
      // The plane that is left did a part of the work, and not all of it.
      expect(told.grants.length).toBeGreaterThan(before);
      expect(before).toBeGreaterThan(JOBS / 4);
      await expectAllKept(second, rows, load);
    } finally {
      await first.stop("SIGKILL");
      await second.stop("SIGKILL");
      rmSync(home, { recursive: true, force: true });
    }
  },
);
