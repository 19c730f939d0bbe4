import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { pathOf, type AcceptedJob } from "@aim/contract";
import { SEED } from "../crash/campaign.ts";
import { createPlace, openDoor, type Heard, type Place } from "../crash/place.ts";
import { keepBundle, specOf, submit } from "../crash/scripted-client.ts";
import { failWaiting } from "../crash/scripted-runner.ts";
import { nothingTold } from "../crash/told.ts";
import { makeFolder } from "../harness/plane.ts";
import { startPostgres } from "../harness/postgres.ts";
import { storedRows } from "../harness/stored.ts";
import type { Rows } from "../crash/judge.ts";
import { createChance } from "../simulation/chance.ts";
import { expectOneText, send, type Sending } from "./clients.ts";

const CLIENTS = 64;
const RETRIES = 32;
const CUTS = 0.05;
const CHANGED = 0.01;

interface Ground {
  readonly place: Place;
  readonly rows: Rows;
}

/** A plane that stands for the length of `work`. */
async function onSqlite(work: (ground: Ground) => Promise<void>): Promise<void> {
  const home = makeFolder("idempotency");
  const place = createPlace(home);
  try {
    place.start();
    await place.up();
    await work({ place, rows: (query) => storedRows(place.stateDir, query) });
    expect(await place.stop()).toBe(0);
  } finally {
    await place.stop("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  }
}

async function onPostgres(work: (ground: Ground) => Promise<void>): Promise<void> {
  await using postgres = await startPostgres();
  const home = makeFolder("idempotency-pg");
  const url = postgres.createDatabase();
  const file = join(home, "database-url");
  writeFileSync(file, url, { mode: 0o600 });
  const place = createPlace(home, ["--database-file", file]);
  try {
    place.start();
    await place.up();
    await work({ place, rows: (query) => postgres.rows(url, query) });
  } finally {
    await place.stop("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  }
}

/** 64 clients send the same job; after the first answer some of them another one under the same key. */
async function sendOneKey(sending: Sending, key: string, bundle: string) {
  const spec = specOf({ key, bundle });
  const other = { ...spec, timeout_s: spec.timeout_s + 1 };
  const post = (body: unknown) => send<AcceptedJob>(sending, pathOf("jobCreate"), { spec: body });
  const equal: Promise<Heard<AcceptedJob>>[] = [];
  const changed: Promise<Heard<AcceptedJob>>[] = [];
  for (let client = 0; client < CLIENTS; client += 1) {
    if (client === 0 || !sending.chance.happens(CHANGED)) equal.push(post(spec));
    else changed.push(Promise.race(equal).then(() => post(other)));
  }
  return { equal: await Promise.all(equal), changed: await Promise.all(changed) };
}

describe.each([
  { name: "SQLite", on: onSqlite, keys: 100 },
  { name: "PostgreSQL", on: onPostgres, keys: 20 },
])("on $name", ({ on, keys }) => {
  test(`${CLIENTS} clients with one key make one job, ${keys} keys ${keys} jobs (AIM_TEST_SEED=${SEED})`, async () => {
    await on(async ({ place, rows }) => {
      const sender = { door: openDoor([place]), told: nothingTold() };
      const bundle = await keepBundle(sender, { "inventory.ini": "one\n" });
      const chance = createChance(SEED);
      const sending = { socketPath: place.socketOf("client"), chance, cuts: CUTS };
      const made = new Set<string>();
      let refused = 0;
      for (let number = 0; number < keys; number += 1) {
        const { equal, changed } = await sendOneKey(sending, `key-${number}`, bundle);
        expectOneText(equal);
        made.add(equal[0]?.text ?? "");
        for (const answer of changed) {
          expect(answer).toMatchObject({ ok: false, status: 422, code: "idempotency_mismatch" });
        }
        refused += changed.length;
      }
      expect(made.size).toBe(keys);
      expect(refused).toBeGreaterThan(0);
      for (const table of ["jobs", "attempts"]) {
        expect(Number(rows(`SELECT count(*) AS n FROM ${table}`)[0]?.["n"])).toBe(keys);
      }
    });
  });

  test(`${RETRIES} retries at once make one attempt, whatever their keys`, async () => {
    await on(async ({ place, rows }) => {
      const sender = { door: openDoor([place]), told: nothingTold() };
      const bundle = await keepBundle(sender, { "inventory.ini": "one\n" });
      const sending = {
        socketPath: place.socketOf("client"),
        chance: createChance(SEED),
        cuts: CUTS,
      };
      const failed = async (key: string): Promise<string> => {
        const { job_id } = await submit(sender, specOf({ key, bundle }));
        await failWaiting(sender.door);
        return job_id;
      };
      const retry = (jobId: string, keyOf: (client: number) => string) =>
        Promise.all(
          Array.from({ length: RETRIES }, (_, client) =>
            send<AcceptedJob>(sending, pathOf("jobRetry", { job_id: jobId }), {
              idempotency_key: keyOf(client),
            }),
          ),
        );
      const attemptsOf = (jobId: string) =>
        rows(`SELECT number FROM attempts WHERE job_id = '${jobId}' ORDER BY number`).map(
          ({ number }) => number,
        );

      const [one, two] = [await failed("one"), await failed("two")];
      expectOneText(await retry(one, () => "again"));
      expect(attemptsOf(one)).toEqual([1, 2]);

      const answers = await retry(two, (client) => `again-${client}`);
      const refusals = answers.filter(({ ok }) => !ok);
      expect(refusals).toHaveLength(RETRIES - 1);
      for (const refusal of refusals) expect(refusal).toMatchObject({ code: "state_conflict" });
      expect(attemptsOf(two)).toEqual([1, 2]);
    });
  });
});
