// What asks for living attempts finds them by an index: a plane with a million ended ones is as quick as a new one.
import { DatabaseSync } from "node:sqlite";
import { Kysely, type LogEvent } from "kysely";
import { expect, test } from "vitest";
import { sqliteDialect, sqliteRows } from "../dialects/sqlite/dialect.ts";
import { migrateSqlite } from "../dialects/sqlite/migrate.ts";
import type { Schema } from "../schema.ts";
import { claimWaiting } from "./claim-next.ts";
import { readGauges } from "./gauges.ts";
import { dueAttempts, liveAttempts } from "./read-attempts.ts";
import { listRunners } from "./runners.ts";

const NOW = 1_800_000_000_000;

type Asking = (db: Kysely<Schema>) => Promise<unknown>;

const ASKING: readonly (readonly [string, Asking])[] = [
  ["liveAttempts", (db) => liveAttempts(db)],
  ["dueAttempts", (db) => dueAttempts(db, { now: NOW })],
  ["readGauges", (db) => readGauges(db, { heardSince: NOW })],
  ["listRunners", (db) => listRunners(db, { limit: 10 })],
  [
    "claimWaiting",
    (db) =>
      db.transaction().execute((transaction) =>
        claimWaiting(
          { db: transaction, rows: sqliteRows },
          {
            claims: [{ runner: "rnr_1", claimId: "clm_1" }],
            jobTypes: ["ansible.playbook.run"],
            ttlMs: 30_000,
            now: NOW,
          },
        ),
      ),
  ],
];

test.each(ASKING)("%s reads no ended attempt", async (_name, ask) => {
  const database = new DatabaseSync(":memory:");
  await migrateSqlite(database);
  const asked: string[] = [];
  const db = new Kysely<Schema>({
    dialect: sqliteDialect(database),
    log: ({ query }: LogEvent) => void asked.push(query.sql),
  });
  await ask(db);
  const plans = asked.flatMap((sql) =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail)),
  );
  const reads = plans.filter((detail) => /\battempts\b/.test(detail));
  expect(reads.length).toBeGreaterThan(0);
  // A whole index is read only where it holds nothing but what lives.
  const LIVING = /USING (?:COVERING )?INDEX (?:attempts_queued|attempts_held|one_live_attempt)\b/;
  expect(reads.filter((detail) => detail.startsWith("SCAN") && !LIVING.test(detail))).toEqual([]);
  await db.destroy();
});
