// The audit in the store: one chain without a fork, written with what it tells or not at all.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Action } from "@aim/contract";
import { auditLine, verifyAudit } from "@aim/sdk";
import { allowed } from "../../plane/audit/chain.ts";
import { openPostgresStore } from "../../plane/store/dialects/postgres/store.ts";
import { openSqliteStore } from "../../plane/store/dialects/sqlite/store.ts";
import { MIGRATIONS } from "../../plane/store/migrations/index.ts";
import type { Store } from "../../plane/store/store.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";
import { aJob, anAttempt, aUser, enqueue, NOW, saveRevision } from "../store/samples.ts";

const WHO = { kind: "user", id: "u1", name: "Ada" } as const;

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres[Symbol.asyncDispose]());

const fail = (error: Error): void => {
  throw error;
};

describe.for([["sqlite"], ["postgres"]] as const)("the audit on %s", ([dialect]) => {
  let store: Store;
  let folder: string;
  let url: string;

  const open = () =>
    dialect === "sqlite"
      ? openSqliteStore(join(folder, "aim.sqlite"), fail)
      : openPostgresStore(url, fail);

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "aim-audit-"));
    url = dialect === "sqlite" ? "" : postgres.createDatabase();
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs SQL past the store. SQLite's file is free only while nobody has it open. */
  async function behindItsBack(sql: string): Promise<void> {
    await store.close();
    try {
      if (dialect === "sqlite") {
        const database = new DatabaseSync(join(folder, "aim.sqlite"));
        try {
          database.exec(sql);
        } finally {
          database.close();
        }
      } else {
        postgres.run(url, sql);
      }
    } finally {
      store = await open();
    }
  }

  function execute(key: string, of: Store = store) {
    const job = aJob(key);
    const attempt = anAttempt(job);
    const what = { job_id: job.id, run_id: attempt.id };
    const audit = allowed(WHO, { action: "job.execute", customer: "acme", what, now: NOW });
    return of.createJob({ job, attempt, revision: null, audit });
  }

  const verdict = async () => {
    const rows = await store.readAudit({ after: 0, limit: 1_000 });
    return { rows, report: await verifyAudit(rows.map(auditLine)) };
  };

  test("what is done stands in one chain, in the order of the commits", async () => {
    const stores = dialect === "postgres" ? [store, await open()] : [store];
    const keys = Array.from({ length: 60 }, (_, number) => `key-${number}`);
    await Promise.all(
      keys.map((key, number) => execute(key, stores[number % stores.length] as Store)),
    );
    const { rows, report } = await verdict();
    expect(report).toMatchObject({ finding: null, rows: keys.length });
    expect(await store.readAuditEnd()).toEqual(report.end);
    expect(rows[0]).toMatchObject({ principal: WHO, action: "job.execute", outcome: "allowed" });
    await stores[1]?.close();
  });

  test("the same key twice is told once", async () => {
    await execute("once");
    await execute("once").catch(() => undefined);
    expect((await verdict()).rows).toHaveLength(1);
  });

  test("a cancel that is refused by the attempt's state is not told as done", async () => {
    const { id: attemptId } = await enqueue(store, "cancelled");
    const audit = allowed(WHO, {
      action: "job.cancel",
      customer: "acme",
      what: { run_id: attemptId },
      now: NOW,
    });
    const command = { do: "cancel" } as const;
    await store.applyStep({ attemptId, command, now: NOW, audit });
    expect((await verdict()).rows).toMatchObject([{ action: "job.cancel" }]);
    const moved = { do: "move", epoch: 9, to: "running" } as const;
    await store.applyStep({ attemptId, command: moved, now: NOW, audit });
    expect((await verdict()).rows).toHaveLength(1);
  });

  test("an audit that cannot be written stops what it would tell", async () => {
    const user = aUser("ada");
    await store.createUser(user);
    const told = (action: Action) => allowed(WHO, { action, customer: null, what: {}, now: NOW });
    await behindItsBack(
      dialect === "sqlite"
        ? `CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no'); END`
        : `CREATE FUNCTION full_audit() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'no'; END $$;
           CREATE TRIGGER full_audit BEFORE INSERT ON audit
             FOR EACH ROW EXECUTE FUNCTION full_audit()`,
    );
    await expect(execute("unwritten")).rejects.toThrow();
    expect(await store.readAccepted({ customer: "acme", key: "unwritten" })).toBeNull();
    const change = { id: user.id, disabled: true, now: NOW, audit: told("user.write") };
    await expect(store.changeUser(change)).rejects.toThrow();
    expect((await store.readUser({ id: user.id }))?.disabled).toBe(false);
    const off = { enabled: false, audit: told("setting.write") };
    await expect(store.setExecution(off)).rejects.toThrow();
    expect(await store.readExecution()).toBe(true);
    await saveRevision(store, "kept");
    expect(await store.readRevision({ revision: "kept" })).not.toBeNull();
  });

  test("a row is never changed and never taken away, not even by SQL", async () => {
    await execute("stands");
    for (const sql of ["UPDATE audit SET outcome = 'refused'", "DELETE FROM audit"]) {
      await expect(behindItsBack(sql)).rejects.toThrow(/never changes/);
    }
    expect((await verdict()).rows).toHaveLength(1);
  });

  test("somebody who takes the triggers away and rewrites a row is found out", async () => {
    await execute("one");
    await execute("two");
    const drop =
      dialect === "sqlite"
        ? "DROP TRIGGER audit_stands_update"
        : "DROP TRIGGER audit_stands ON audit";
    await behindItsBack(`${drop}; UPDATE audit SET principal_name = 'Eve' WHERE position = 1`);
    expect((await verdict()).report.finding).toEqual({ code: "hash_mismatch", position: 1 });
  });
});

test("migrations have ascending numbers, with or without a gap", () => {
  const numbers = MIGRATIONS.map(({ number }) => number);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
});
