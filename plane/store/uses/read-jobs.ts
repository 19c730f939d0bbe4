// Jobs with their attempts: one with all of them, or the newest jobs with the newest attempt of each.
import type { Kysely } from "kysely";
import type { AttemptState } from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import type { Scope } from "../../auth/can.ts";
import type { Schema } from "../schema.ts";
import { attemptOf, jobOf } from "./attempt-row.ts";
import { within } from "./scope.ts";

export interface JobAndAttempts {
  readonly job: Job;
  /** Oldest first, never empty. */
  readonly attempts: readonly Attempt[];
}

export async function readJob(
  db: Kysely<Schema>,
  use: { readonly jobId: string },
): Promise<JobAndAttempts | null> {
  const row = await db
    .selectFrom("jobs")
    .selectAll()
    .where("id", "=", use.jobId)
    .executeTakeFirst();
  if (row === undefined) return null;
  const attempts = await db
    .selectFrom("attempts")
    .selectAll()
    .where("job_id", "=", row.id)
    .orderBy("number")
    .execute();
  return { job: jobOf(row), attempts: attempts.map(attemptOf) };
}

export interface ListJobs {
  /** Only jobs older than this one; null for the newest. */
  readonly before: string | null;
  /** Only jobs whose newest attempt is in this state. */
  readonly state: AttemptState | null;
  readonly customer: string | null;
  readonly limit: number;
  readonly scope: Scope;
}

export interface ListedJob {
  readonly job: Job;
  readonly newest: Attempt;
}

/** Newest first: ids sort by age. */
export async function listJobs(db: Kysely<Schema>, use: ListJobs): Promise<ListedJob[]> {
  let query = db
    .selectFrom("attempts")
    .innerJoin("jobs", "jobs.id", "attempts.job_id")
    .selectAll("attempts")
    .where((where) =>
      where(
        "attempts.number",
        "=",
        where
          .selectFrom("attempts as other")
          .select((other) => other.fn.max("other.number").as("number"))
          .whereRef("other.job_id", "=", "jobs.id"),
      ),
    )
    .where(within(use.scope))
    .orderBy("jobs.id", "desc")
    .limit(use.limit);
  if (use.before !== null) query = query.where("jobs.id", "<", use.before);
  if (use.state !== null) query = query.where("attempts.state", "=", use.state);
  if (use.customer !== null) query = query.where("jobs.customer_id", "=", use.customer);
  const attempts = (await query.execute()).map(attemptOf);
  if (attempts.length === 0) return [];
  const rows = await db
    .selectFrom("jobs")
    .selectAll()
    .where(
      "id",
      "in",
      attempts.map(({ jobId }) => jobId),
    )
    .execute();
  const byId = new Map(rows.map((row) => [row.id, jobOf(row)]));
  return attempts.flatMap((newest) => {
    const job = byId.get(newest.jobId);
    return job === undefined ? [] : [{ job, newest }];
  });
}

/** What an idempotency key of a customer made, or null. */
export async function readAccepted(
  db: Kysely<Schema>,
  use: { readonly customer: string; readonly key: string },
): Promise<{ readonly job: Job; readonly first: Attempt } | null> {
  const row = await db
    .selectFrom("jobs")
    .selectAll()
    .where("customer_id", "=", use.customer)
    .where("idempotency_key", "=", use.key)
    .executeTakeFirst();
  if (row === undefined) return null;
  const first = await db
    .selectFrom("attempts")
    .selectAll()
    .where("job_id", "=", row.id)
    .where("number", "=", 1)
    .executeTakeFirstOrThrow();
  return { job: jobOf(row), first: attemptOf(first) };
}

/** The attempt that a retry's key made, or null. */
export async function readRetry(
  db: Kysely<Schema>,
  use: { readonly jobId: string; readonly key: string },
): Promise<Attempt | null> {
  const row = await db
    .selectFrom("attempts")
    .selectAll()
    .where("job_id", "=", use.jobId)
    .where("idempotency_key", "=", use.key)
    .executeTakeFirst();
  return row === undefined ? null : attemptOf(row);
}
