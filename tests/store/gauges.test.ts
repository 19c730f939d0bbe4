import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgresStore } from "../../plane/store/dialects/postgres/store.ts";
import { openSqliteStore } from "../../plane/store/dialects/sqlite/store.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";
import { aRegister } from "../harness/scripted-runner.ts";
import { enqueue, NOW, TTL_MS } from "./samples.ts";

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres[Symbol.asyncDispose]());

const fail = (error: Error): void => {
  throw error;
};

test.for([["sqlite"], ["postgres"]] as const)(
  "what is alive is counted on %s, in numbers",
  async ([dialect]) => {
    const folder = mkdtempSync(join(tmpdir(), "aim-gauges-"));
    const store =
      dialect === "sqlite"
        ? await openSqliteStore(join(folder, "aim.sqlite"), fail)
        : await openPostgresStore(postgres.createDatabase(), fail);
    const [near, far] = [aRegister({ slots: 2 }), aRegister({ slots: 3 })];
    await store.saveRunner({ register: near, name: "near", now: NOW });
    await store.saveRunner({ register: aRegister({ slots: 4 }), name: "other", now: NOW });
    await store.saveRunner({ register: far, name: "far", now: NOW - 120_000 });
    for (const key of ["a", "b", "c"]) await enqueue(store, key);
    const jobTypes = ["ansible.playbook.run"];
    const claim = { runner: near.runner_instance_id, claimId: "clm_1", ttlMs: TTL_MS };
    await store.claimNext({ ...claim, jobTypes, now: NOW });
    const { attempts, deliveries, pool } = await store.readGauges({ heardSince: NOW - 60_000 });
    const job_type = "ansible.playbook.run";
    expect(attempts.toSorted((a, b) => a.state.localeCompare(b.state))).toEqual([
      { state: "leased", job_type, runner_kind: "process", count: 1 },
      { state: "queued", job_type, runner_kind: null, count: 2 },
    ]);
    expect(pool).toEqual([{ runner_kind: "process", runners: 2, slots: 6 }]);
    expect(deliveries).toEqual({ waiting: 0, dead: 0, waitingSince: null });
    await store.close();
    rmSync(folder, { recursive: true });
  },
);
