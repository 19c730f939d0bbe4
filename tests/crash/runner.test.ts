import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { isTerminal, type AttemptState } from "@aim/contract";
import { createClient } from "@aim/sdk";
import type { RunnerPoint } from "../../runner/point.ts";
import { readRunnerSettings } from "../../runner/settings.ts";
import { makeFolder, until } from "../harness/plane.ts";
import { storedRows } from "../harness/stored.ts";
import { LONG } from "./campaign.ts";
import { judge } from "./judge.ts";
import { createPlace, openDoor } from "./place.ts";
import { launchRunner } from "./processes.ts";
import { readEvents } from "./read-events.ts";
import { keepBundle, specOf, submit } from "./scripted-client.ts";
import { nothingTold } from "./told.ts";

/** Long enough that a busy machine loses no lease by itself. */
const TTL_S = 8;
const ENDS_MS = 60_000;
const LATE_MS = 10_000;

/** Every named point of the runner, and what is known of an attempt whose runner died there. */
const LEFT: Readonly<Record<RunnerPoint, readonly [state: string, effect: string]>> = {
  "attempt.claimed": ["lost", "none"],
  "sandbox.opened": ["lost", "none"],
  "tool.started": ["lost", "unknown"],
  "tool.ended": ["lost", "unknown"],
  "artifacts.uploaded": ["lost", "unknown"],
  "completion.before": ["lost", "unknown"],
  "completion.after": ["succeeded", "none"],
};
const POINTS = Object.keys(LEFT) as RunnerPoint[];

test.each([
  { whom: "a runner", kills: LONG ? 132 : 12, withPlane: false },
  { whom: "a runner and its plane", kills: LONG ? 68 : 6, withPlane: true },
])(
  "$whom killed $kills times: every job ends once, and what is known of it is true",
  { timeout: LONG ? 4 * 3_600_000 : 300_000 },
  async ({ kills, withPlane }) => {
    const home = makeFolder("crash-runner");
    const place = createPlace(home, ["--lease-ttl-s", String(TTL_S)]);
    const told = nothingTold();
    const sender = { door: openDoor([place]), told };
    const expected = new Map<string, readonly [string, string]>();
    const client = createClient({ socketPath: place.socketOf("client") });
    try {
      place.start();
      const bundle = await keepBundle(sender, { "inventory.ini": "one\n" });
      const newJob = (key: string) => submit(sender, specOf({ key, bundle }));
      /** Answers the state of a run that ended long ago while its runner still waits for the point. */
      const overWithout = async (id: string): Promise<string> => {
        const state = async () => (await client.status(id).catch(() => null))?.state ?? "queued";
        const over = await until(ENDS_MS, async () => isTerminal(await state())).then(
          () => true,
          () => false,
        );
        await delay(LATE_MS);
        return over ? await state() : "nothing happened";
      };
      for (let kill = 0; kill < kills; kill += 1) {
        const point = POINTS[kill % POINTS.length] ?? "attempt.claimed";
        const { run_id } = await newJob(`kill-${kill}`);
        expected.set(run_id, LEFT[point]);
        const runner = launchRunner(home, { killAt: { point, times: 1 } });
        const ended = await Promise.race([runner.ended, overWithout(run_id)]);
        expect(ended, `kill ${kill} at ${point}`).toBe("SIGKILL");
        if (!withPlane) continue;
        await place.stop("SIGKILL");
        place.start();
        await place.up();
      }
      const runner = launchRunner(home);
      expected.set((await newJob("last")).run_id, ["succeeded", "none"]);
      const states = async (): Promise<AttemptState[]> =>
        Promise.all([...expected.keys()].map(async (id) => (await client.status(id)).state));
      await until(ENDS_MS, async () => (await states()).every(isTerminal));
      runner.kill("SIGTERM");
      expect(await runner.ended).toBe(0);
      const rows = (query: string) => storedRows(place.stateDir, query);
      const events = await readEvents(place, rows);
      expect(await place.stop()).toBe(0);
      expect(judge(told, { rows, events })).toEqual([]);
      const found = rows("SELECT id, state, effect FROM attempts");
      expect(new Map(found.map(({ id, state, effect }) => [id, [state, effect]]))).toEqual(
        expected,
      );
      expectNothingLeft(place.stateDir);
    } finally {
      await place.stop("SIGKILL");
      rmSync(home, { recursive: true, force: true });
    }
  },
);

/** The runner that came last has ended the sandboxes of those that died, and has left none itself. */
function expectNothingLeft(stateDir: string): void {
  const { runtimeDir } = readRunnerSettings(["--state", stateDir], process.env);
  const sandboxes = join(runtimeDir, "s");
  expect(existsSync(sandboxes) ? readdirSync(sandboxes) : []).toEqual([]);
}
