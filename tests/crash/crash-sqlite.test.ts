import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { makeFolder } from "../harness/plane.ts";
import { storedRows } from "../harness/stored.ts";
import { LONG, runCampaign, SEED } from "./campaign.ts";
import { createPlace } from "./place.ts";

const KILLS = LONG ? 2_400 : 91;

test(
  `a plane on SQLite that is killed ${KILLS} times keeps everything it answered (AIM_TEST_SEED=${SEED})`,
  { timeout: LONG ? 4 * 3_600_000 : 600_000 },
  async () => {
    const home = makeFolder("crash");
    try {
      const place = createPlace(home, ["--lease-ttl-s", "3", "--allow-callback-loopback"]);
      const rows = (query: string) => storedRows(place.stateDir, query);
      const told = await runCampaign({ place, rows, kills: KILLS, seed: SEED });
      expect(rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
      // A campaign in which nothing was done would prove nothing.
      expect(told.ended.size).toBeGreaterThan(KILLS);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
);
