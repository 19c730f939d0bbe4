import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isTerminal, type RunStatus } from "@aim/contract";
import { createClient } from "@aim/sdk";
import { createPlace, openDoor } from "../crash/place.ts";
import { keepBundle, specOf, submit } from "../crash/scripted-client.ts";
import { nothingTold } from "../crash/told.ts";
import { startRun } from "../harness/background.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { makeFolder, startPlane, until } from "../harness/plane.ts";
import { hold } from "./holder.ts";
import { createWall, HOUR_MS, SHIFTED, TEN_YEARS_MS } from "./wall.ts";

/** Long enough for a machine that others load too. */
const TTL_S = 4;
const TIMEOUT_S = 3;
const GRACE_S = 1;
/** By then every attempt must have ended, whatever the wall says. */
const END_MS = (TIMEOUT_S + GRACE_S + TTL_S + 5) * 1000;
const BEATS = 12;

const JUMPS = [
  { name: "back by an hour", ms: -HOUR_MS },
  { name: "forth by an hour", ms: HOUR_MS },
  { name: "forth by ten years", ms: TEN_YEARS_MS },
] as const;

describe.concurrent.each(JUMPS)("a wall clock that jumps $name", ({ ms }) => {
  test("loses no lease, ends what must end, and loses nothing at a restart after a jump back", async () => {
    const home = makeFolder("clocks");
    const wall = createWall(home);
    const place = createPlace(home, ["--lease-ttl-s", String(TTL_S)]);
    const start = () => place.start({ preload: [SHIFTED], env: wall.env });
    const client = createClient({ socketPath: place.socketOf("client") });
    try {
      start();
      await place.up();
      const door = openDoor([place]);
      const sender = { door, told: nothingTold() };
      const bundle = await keepBundle(sender, { "inventory.ini": "one\n" });
      const accept = (key: string, timeoutS: number) =>
        submit(sender, specOf({ key, bundle, timeoutS, graceS: GRACE_S }));

      await accept("kept", 600);
      const kept = await hold(door);
      await accept("deaf", TIMEOUT_S);
      const begun = performance.now();
      const deaf = await hold(door);
      await accept("silent", TIMEOUT_S);
      const silent = await hold(door);
      silent.fallSilent();
      const { run_id: waiting } = await accept("waiting", TIMEOUT_S);
      const fates = [silent.runId, deaf.runId, waiting];

      wall.set(ms);
      const states = async (): Promise<RunStatus["state"][]> =>
        Promise.all(fates.map(async (id) => (await client.status(id)).state));
      const left = begun + END_MS - performance.now();
      await until(left, async () => (await states()).every(isTerminal));
      expect(await states()).toEqual(["lost", "lost", "timed_out"]);
      deaf.fallSilent();
      const beaten = kept.beats();
      await until(30_000, () => kept.beats() >= beaten + BEATS);
      expect(kept.refusals).toEqual([]);

      // The plane that comes after a jump back has only the wall and what is written down.
      wall.set(-2 * HOUR_MS);
      expect(await place.stop("SIGKILL")).toBe("SIGKILL");
      start();
      await place.up();
      const again = kept.beats();
      await until(30_000, () => kept.beats() >= again + BEATS);
      expect(kept.refusals).toEqual([]);
      expect(await kept.succeed()).toBe("succeeded");
      expect(await states()).toEqual(["lost", "lost", "timed_out"]);
      expect(await place.stop()).toBe(0);
    } finally {
      await place.stop("SIGKILL");
      rmSync(home, { recursive: true, force: true });
    }
  });
});

const SLOW = `- name: Slow
  hosts: all
  gather_facts: false
  tasks:
    - name: Begin
      ansible.builtin.ping:
    - name: Outlive some leases
      ansible.builtin.command: sleep 9
      changed_when: false
`;

test("a real runner goes on with its run while the wall jumps", async () => {
  const folder = makeFolder("clocks-wall");
  const wall = createWall(folder);
  try {
    await using plane = await startPlane({
      arguments: ["--lease-ttl-s", String(TTL_S)],
      env: { ...wall.env, NODE_OPTIONS: `--import ${SHIFTED}` },
    });
    writeCustomer(plane.catalogDir, {
      playbooks: { site: { playbook: "site.yml" } },
      files: { "inventory.ini": "one ansible_connection=local\n", "site.yml": SLOW },
    });
    const run = await startRun(plane, { customer: "acme", playbook: "site", hosts: ["one"] });
    await run.saw(({ kind }) => kind === "host_result");
    for (const { ms } of JUMPS) {
      wall.set(ms);
      const moved = performance.now() + 1_500;
      await until(5_000, () => performance.now() > moved);
    }
    const result = await run.result;
    expect(result).toMatchObject({ state: "succeeded", effect: "complete", journal: { lost: 0 } });
    const times = run.events.map(({ timestamp }) => timestamp);
    expect(times).toEqual(times.toSorted());
    expect(run.events.map(({ sequence }) => sequence)).toEqual(run.events.map((_, i) => i + 1));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
