// Accepts a job: job, first attempt and the use of its revision, in one transaction, once for each idempotency key.
import type { Transaction } from "kysely";
import { canonicalJson, type ProblemCode } from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import type { Schema } from "../schema.ts";
import { attemptOf, attemptRow } from "./attempt-row.ts";

export interface CreateJob {
  readonly job: Job;
  readonly attempt: Attempt;
  /** The revision that this job uses up. */
  readonly revision: string;
}

export type CreatedJob =
  | { readonly ok: true; readonly attempt: Attempt }
  | { readonly ok: false; readonly code: ProblemCode };

export async function createJob(db: Transaction<Schema>, use: CreateJob): Promise<CreatedJob> {
  const { job, attempt } = use;
  const before = await db
    .selectFrom("jobs")
    .innerJoin("attempts", "attempts.job_id", "jobs.id")
    .selectAll("attempts")
    .select("jobs.request_digest")
    .where("jobs.customer_id", "=", job.customer)
    .where("jobs.idempotency_key", "=", job.idempotencyKey)
    .orderBy("attempts.number")
    .executeTakeFirst();
  if (before !== undefined) {
    if (before.request_digest !== job.requestDigest)
      return { ok: false, code: "idempotency_mismatch" };
    return { ok: true, attempt: attemptOf(before) };
  }
  const used = await db
    .updateTable("revisions")
    .set({ used_by: attempt.id })
    .where("revision", "=", use.revision)
    .where("used_by", "is", null)
    .executeTakeFirst();
  if (used.numUpdatedRows !== 1n) return { ok: false, code: "revision_used" };
  await db
    .insertInto("jobs")
    .values({
      id: job.id,
      customer_id: job.customer,
      playbook: job.playbook,
      title: job.title,
      idempotency_key: job.idempotencyKey,
      request_digest: job.requestDigest,
      spec: canonicalJson(job.spec),
      bundle_digest: job.bundleDigest,
      created_ms: Math.round(job.created),
    })
    .execute();
  await db.insertInto("attempts").values(attemptRow(attempt, job.spec.job_type)).execute();
  return { ok: true, attempt };
}
