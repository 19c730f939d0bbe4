// What must hold in every database of AIM whatever happened to it; asked of one that comes from a backup.
import type { Kysely } from "kysely";
import { auditFactsOf, TERMINAL_STATES } from "@aim/contract";
import { hashOf, CHAIN_START, type ChainEnd } from "../../audit/chain.ts";
import type { Schema } from "../schema.ts";
import { readAudit, readAuditEnd } from "./audit.ts";

const PAGE = 1_000;

/** One sentence for each that is broken, with how often. */
export async function brokenInvariants(db: Kysely<Schema>): Promise<string[]> {
  const counted: readonly (readonly [string, Promise<number>])[] = [
    ["an attempt has no job", attemptsWithoutJob(db)],
    ["an ended attempt has no result", endedWithoutResult(db)],
    ["an attempt names a manifest that is not there", attemptsWithoutManifest(db)],
    ["a delivery tells of an event that is not there", deliveriesWithoutEvent(db)],
  ];
  const broken: string[] = [];
  for (const [sentence, counting] of counted) {
    const count = await counting;
    if (count > 0) broken.push(`${sentence} (${count})`);
  }
  const place = await brokenChainAt(db);
  return place === null ? broken : [...broken, `the audit's chain breaks at row ${place}`];
}

async function attemptsWithoutJob(db: Kysely<Schema>): Promise<number> {
  const row = await db
    .selectFrom("attempts")
    .leftJoin("jobs", "jobs.id", "attempts.job_id")
    .select(({ fn }) => fn.countAll<number>().as("found"))
    .where("jobs.id", "is", null)
    .executeTakeFirstOrThrow();
  return row.found;
}

async function endedWithoutResult(db: Kysely<Schema>): Promise<number> {
  const row = await db
    .selectFrom("attempts")
    .select(({ fn }) => fn.countAll<number>().as("found"))
    .where("state", "in", TERMINAL_STATES)
    .where("result", "is", null)
    .executeTakeFirstOrThrow();
  return row.found;
}

async function attemptsWithoutManifest(db: Kysely<Schema>): Promise<number> {
  const row = await db
    .selectFrom("attempts")
    .leftJoin("manifests", "manifests.attempt_id", "attempts.id")
    .select(({ fn }) => fn.countAll<number>().as("found"))
    .where("attempts.manifest_digest", "is not", null)
    .where("manifests.attempt_id", "is", null)
    .executeTakeFirstOrThrow();
  return row.found;
}

async function deliveriesWithoutEvent(db: Kysely<Schema>): Promise<number> {
  const row = await db
    .selectFrom("deliveries")
    .leftJoin("outbox", "outbox.id", "deliveries.event_id")
    .select(({ fn }) => fn.countAll<number>().as("found"))
    .where("outbox.id", "is", null)
    .executeTakeFirstOrThrow();
  return row.found;
}

/** The first row of the audit that does not follow; null for a whole chain. */
async function brokenChainAt(db: Kysely<Schema>): Promise<number | null> {
  let end: ChainEnd = CHAIN_START;
  for (;;) {
    const rows = await readAudit(db, { after: end.position, limit: PAGE });
    for (const row of rows) {
      const follows = row.position === end.position + 1 && row.previous === end.hash;
      if (!follows || hashOf(end.hash, auditFactsOf(row)) !== row.hash) return end.position + 1;
      end = { position: row.position, hash: row.hash };
    }
    if (rows.length < PAGE) break;
  }
  const head = await readAuditEnd(db);
  return head.position === end.position && head.hash === end.hash ? null : end.position + 1;
}
