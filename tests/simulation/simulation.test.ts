import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runHistory } from "./history.ts";

const long = process.env["AIM_TEST_LONG"] === "1";
const HISTORIES = long ? 100_000 : 2_000;
const FIRST_SEED = Number(process.env["AIM_TEST_SEED"] ?? 1);

let folder = "";
beforeAll(() => {
  // Memory, where there is some: a crash here is a closed file, which a disk would only slow down.
  folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "aim-simulation-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test(
  `${HISTORIES} histories of lossy networks, paused runners and crashing planes break no promise`,
  { timeout: 6 * 3_600_000 },
  async () => {
    const seen = new Map<string, number>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + HISTORIES; seed += 1) {
      // A fresh file now and then keeps each history about its own jobs.
      const path = join(folder, `${Math.floor(seed / 200)}.sqlite`);
      const { violations, states } = await runHistory({ seed, path, jobs: 3 });
      expect(violations, `replay with AIM_TEST_SEED=${seed}`).toEqual([]);
      for (const state of states) seen.set(state, (seen.get(state) ?? 0) + 1);
    }
    // A simulation in which nothing goes wrong would prove nothing.
    for (const state of ["succeeded", "failed", "cancelled", "lost"]) {
      expect(seen.get(state) ?? 0, state).toBeGreaterThan(HISTORIES / 100);
    }
  },
);

test("the same seed gives the same history", async () => {
  const one = await runHistory({ seed: 7, path: join(folder, "one.sqlite"), jobs: 3 });
  const two = await runHistory({ seed: 7, path: join(folder, "two.sqlite"), jobs: 3 });
  expect(two).toEqual(one);
});
