import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "../harness/plane.ts";
import { startPostgres } from "../harness/postgres.ts";
import { LONG, runCampaign, SEED } from "./campaign.ts";
import { createPlace } from "./place.ts";

const KILLS = LONG ? 2_400 : 91;

test(
  `a plane on PostgreSQL that is killed ${KILLS} times keeps everything it answered (AIM_TEST_SEED=${SEED})`,
  { timeout: LONG ? 4 * 3_600_000 : 600_000 },
  async () => {
    await using postgres = await startPostgres();
    const home = makeFolder("crash-pg");
    try {
      const url = postgres.createDatabase();
      const file = join(home, "database-url");
      writeFileSync(file, url, { mode: 0o600 });
      const own = ["--database-file", file, "--lease-ttl-s", "3", "--allow-callback-loopback"];
      const rows = (query: string) => postgres.rows(url, query);
      const place = createPlace(home, own);
      const told = await runCampaign({ place, rows, kills: KILLS, seed: SEED });
      expect(told.ended.size).toBeGreaterThan(KILLS);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
);
