// Attempts by id, by age, and those that still live.
import type { Kysely } from "kysely";
import type { Attempt, Job } from "../../execution/attempt.ts";
import type { Scope } from "../../auth/can.ts";
import type { Schema } from "../schema.ts";
import { attemptOf, jobOf } from "./attempt-row.ts";
import { within } from "./scope.ts";
import { HELD, LIVE, QUEUED } from "./spelt-states.ts";

export interface AttemptAndJob {
  readonly attempt: Attempt;
  readonly job: Job;
}

export async function readAttempt(
  db: Kysely<Schema>,
  use: { readonly attemptId: string },
): Promise<AttemptAndJob | null> {
  const row = await db
    .selectFrom("attempts")
    .selectAll()
    .where("id", "=", use.attemptId)
    .executeTakeFirst();
  if (row === undefined) return null;
  const job = await db
    .selectFrom("jobs")
    .selectAll()
    .where("id", "=", row.job_id)
    .executeTakeFirstOrThrow();
  return { attempt: attemptOf(row), job: jobOf(job) };
}

export interface ListAttempts {
  readonly limit: number;
  readonly scope: Scope;
}

/** The newest attempts first. */
export async function listAttempts(
  db: Kysely<Schema>,
  use: ListAttempts,
): Promise<AttemptAndJob[]> {
  const rows = await db
    .selectFrom("attempts")
    .innerJoin("jobs", "jobs.id", "attempts.job_id")
    .selectAll("attempts")
    .where(within(use.scope))
    .orderBy("attempts.created_ms", "desc")
    .orderBy("attempts.id", "desc")
    .limit(use.limit)
    .execute();
  if (rows.length === 0) return [];
  const jobs = await db
    .selectFrom("jobs")
    .selectAll()
    .where("id", "in", [...new Set(rows.map((row) => row.job_id))])
    .execute();
  const byId = new Map(jobs.map((job) => [job.id, jobOf(job)]));
  return rows.flatMap((row) => {
    const job = byId.get(row.job_id);
    return job === undefined ? [] : [{ attempt: attemptOf(row), job }];
  });
}

/** Ids of those that have not ended. */
export async function liveAttempts(db: Kysely<Schema>): Promise<string[]> {
  const rows = await db.selectFrom("attempts").select("id").where("state", "in", LIVE).execute();
  return rows.map(({ id }) => id);
}

/** Ids of those that wait past their deadline or are held past their lease. */
export async function dueAttempts(
  db: Kysely<Schema>,
  use: { readonly now: number },
): Promise<string[]> {
  const now = Math.round(use.now);
  const due = db.selectFrom("attempts").select("id");
  const waiting = await due.where("state", "=", QUEUED).where("deadline_ms", "<=", now).execute();
  const held = await due.where("state", "in", HELD).where("lease_expires_ms", "<=", now).execute();
  return [...waiting, ...held].map(({ id }) => id);
}

export async function readManifest(
  db: Kysely<Schema>,
  use: { readonly attemptId: string },
): Promise<string | null> {
  const row = await db
    .selectFrom("manifests")
    .select("manifest")
    .where("attempt_id", "=", use.attemptId)
    .executeTakeFirst();
  return row?.manifest ?? null;
}
