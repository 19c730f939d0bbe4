import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunEvent } from "@aim/contract";
import { openSqlite } from "../../plane/store/dialects/sqlite/open.ts";
import { openSqliteStore } from "../../plane/store/dialects/sqlite/store.ts";
import { MIGRATIONS } from "../../plane/store/migrations/index.ts";
import { makeFolder } from "../harness/plane.ts";
import { SPEC } from "../store/samples.ts";
import { eventAt, eventsAt } from "./journal-plane.ts";

const BEFORE = 6;
const EVENTS = 2_500;

let folder = "";
beforeEach(() => {
  folder = makeFolder("upgrade");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const idOf = (prefix: string, n: number): string => `${prefix}_${String(n).padStart(26, "0")}`;

/** A database as the release before the journal left it: one ended attempt, one that lives, one that waits. */
function writeOldDatabase(path: string): readonly (readonly string[])[] {
  const database = openSqlite(path);
  for (const { both, number, sqlite } of MIGRATIONS.filter((one) => one.number <= BEFORE)) {
    for (const statement of [...both, ...sqlite]) database.exec(statement);
    database.exec(`PRAGMA user_version = ${number}`);
  }
  const columns = database.prepare("PRAGMA table_info(attempts)").all() as { name: string }[];
  const stored: string[][] = [];
  for (const [n, state] of ["succeeded", "running", "queued"].entries()) {
    const [job, run] = [idOf("job", n), idOf("run", n)];
    database
      .prepare(`INSERT INTO jobs VALUES (?, 'acme', 'p', 't', ?, 'd', ?, 'b', 1, 'local', NULL)`)
      .run(job, `k${n}`, JSON.stringify(SPEC));
    const values: Record<string, string | number | null> = {
      id: run,
      job_id: job,
      customer_id: "acme",
      state,
      lease_expires_ms: null,
      result: null,
      runner: null,
      claim_id: null,
      idempotency_key: null,
    };
    const row = columns.map(({ name }) =>
      Object.hasOwn(values, name) ? (values[name] ?? null) : 1,
    );
    database
      .prepare(`INSERT INTO attempts VALUES (${columns.map(() => "?").join(", ")})`)
      .run(...row);
    const events: RunEvent[] = state === "queued" ? [] : eventsAt(run, 1, EVENTS);
    const insert = database.prepare(`INSERT INTO events VALUES (?, ?, 'acme', ?)`);
    database.exec("BEGIN");
    for (const event of events) insert.run(run, event.sequence, JSON.stringify(event));
    database.exec("COMMIT");
    stored.push(events.map((event) => JSON.stringify(event)));
  }
  database.exec(
    `INSERT INTO usage VALUES ('${idOf("run", 0)}', 7, 'acme', 'j', 't', NULL, 'succeeded', 1, 2, 3)`,
  );
  database.close();
  return stored;
}

test("an upgrade keeps every event and all usage, and claims no history that was never recorded", async () => {
  const path = join(folder, "aim.sqlite");
  const stored = writeOldDatabase(path);
  for (let opening = 0; opening < 2; opening += 1) {
    const store = await openSqliteStore(path, (error) => {
      throw error;
    });
    for (const [n, events] of stored.entries()) {
      const rows = await store.readEvents({ attemptId: idOf("run", n), after: 0, limit: 10_000 });
      expect(rows.map(({ event }) => event)).toEqual(events);
    }
    const kept = [0, 1, 2].map(async (n) => {
      const known = await store.readKnownJournals({ jobId: idOf("job", n) });
      const journal = known?.attempts[0]?.journal ?? null;
      return journal === null ? null : [journal.capture, journal.retained, journal.seen === null];
    });
    expect(await Promise.all(kept)).toEqual([
      ["unavailable", EVENTS, true],
      ["live", EVENTS, false],
      null,
    ]);
    expect(await store.readUsage({ after: 0, limit: 10, customers: null })).toMatchObject([
      { cursor: 7, attempt_id: idOf("run", 0), artifact_bytes: 2 },
    ]);
    await store.close();
  }
  // The one that lives goes on behind what was carried over, within the usual limits.
  const store = await openSqliteStore(path, () => undefined);
  const attemptId = idOf("run", 1);
  const next = { attemptId, epoch: 1, events: [eventAt(attemptId, EVENTS + 1)], lost: 0, now: 5 };
  expect(await store.appendEvents(next)).toBeNull();
  expect(await store.readEvents({ attemptId, after: EVENTS, limit: 10 })).toHaveLength(1);
  await store.close();
});
