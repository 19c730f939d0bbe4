import { request } from "node:http";
import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { pathOf } from "@aim/contract";
import { expectAllKept, LONG, SEED, startLoad } from "../crash/campaign.ts";
import { createPlace, openDoor, type Place } from "../crash/place.ts";
import { keepBundle, specOf } from "../crash/scripted-client.ts";
import { nothingTold } from "../crash/told.ts";
import { newId } from "../../plane/base/ids.ts";
import { makeFolder, until } from "../harness/plane.ts";
import { countRows, storedRows } from "../harness/stored.ts";
import { call } from "../harness/wire.ts";
import { createChance } from "../simulation/chance.ts";
import { registration } from "../simulation/runner-model.ts";

const ROUNDS = LONG ? 50 : 4;
const JOBS_A_ROUND = 10;
/** A try of a callback may take ten seconds; everything else is quicker. */
const ENDS_MS = 20_000;
const ARGUMENTS = ["--lease-ttl-s", "3", "--allow-callback-loopback"];

async function onPlane(work: (place: Place) => Promise<void>): Promise<void> {
  const home = makeFolder("shutdown");
  const place = createPlace(home, ARGUMENTS);
  try {
    place.start();
    await place.up();
    await work(place);
  } finally {
    await place.stop("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  }
}

test(`a plane that is told to end under load ends by itself and loses nothing (AIM_TEST_SEED=${SEED})`, async () => {
  await onPlane(async (place) => {
    const chance = createChance(SEED);
    await using load = await startLoad({ places: [place], runners: 4, clients: 2, chance });
    for (let round = 1; round <= ROUNDS; round += 1) {
      await until(60_000, () => load.told.jobs.size >= round * JOBS_A_ROUND);
      const asked = performance.now();
      expect(await place.stop()).toBe(0);
      expect(performance.now() - asked).toBeLessThan(ENDS_MS);
      place.start();
      await place.up();
    }
    await load.finish();
    await expectAllKept(place, (query) => storedRows(place.stateDir, query), load);
  });
});

test("a plane that ends hears a runner out, sends a waiting one away and takes no job", async () => {
  await onPlane(async (place) => {
    const sender = { door: openDoor([place]), told: nothingTold() };
    const bundle = await keepBundle(sender, { "inventory.ini": "one\n" });
    const socketPath = place.socketOf("runner");
    const id = newId("rnr");
    const register = { path: pathOf("register"), body: JSON.stringify(registration(id)) };
    expect((await call({ socketPath, ...register })).status).toBe(200);
    const claim = { runner_instance_id: id, claim_id: newId("clm"), wait_ms: 30_000 };
    const waiting = call({ socketPath, path: pathOf("claim"), body: JSON.stringify(claim) });
    const speaking = await beginToSpeak(socketPath, register);
    const ended = place.stop();
    expect((await waiting).status).toBe(503);
    const body = JSON.stringify({ spec: specOf({ key: "late", bundle }) });
    const late = call({ socketPath: place.socketOf("client"), path: pathOf("jobCreate"), body });
    // No answer is as good a refusal as one in words.
    expect(await late.catch(() => ({ status: 503 }))).toMatchObject({ status: 503 });
    expect(await speaking.goOn()).toBe(200);
    expect(await ended).toBe(0);
    expect(countRows(place.stateDir, "jobs")).toBe(0);
  });
});

test("a plane that ends does not wait for a runner that fell silent in the middle of a call", async () => {
  await onPlane(async (place) => {
    const path = pathOf("register");
    const body = JSON.stringify(registration(newId("rnr")));
    const speaking = await beginToSpeak(place.socketOf("runner"), { path, body });
    const asked = performance.now();
    expect(await place.stop()).toBe(0);
    expect(performance.now() - asked).toBeLessThan(ENDS_MS);
    await expect(speaking.goOn()).rejects.toThrow();
  });
});

/** Sends the half of a call; `goOn` sends the rest and answers the status. */
async function beginToSpeak(
  socketPath: string,
  { path, body }: { readonly path: string; readonly body: string },
): Promise<{ readonly goOn: () => Promise<number> }> {
  const half = Math.floor(body.length / 2);
  const headers = { "content-type": "application/json", "content-length": body.length };
  const outgoing = request({ socketPath, path, method: "POST", agent: false, headers });
  const answered = new Promise<number>((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => resolve(incoming.resume().statusCode ?? 0));
  });
  answered.catch(() => undefined);
  outgoing.write(body.slice(0, half));
  // What came later is answered: this has been read.
  await call({ socketPath, path: "/nothing" });
  return {
    goOn: () => {
      outgoing.end(body.slice(half));
      return answered;
    },
  };
}
