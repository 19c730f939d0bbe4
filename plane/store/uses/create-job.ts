// Accepts a job: job, first attempt and the use of its revision, in one transaction, once for each idempotency key.
import { AimError, canonicalJson, type ProblemCode } from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import type { Write } from "../transaction.ts";
import { attemptOf, attemptRow } from "./attempt-row.ts";
import { tellCallbacks } from "./tell-callbacks.ts";

export interface CreateJob {
  readonly job: Job;
  readonly attempt: Attempt;
  /** The revision that this job uses up. */
  readonly revision: string;
}

export type CreatedJob =
  | {
      readonly ok: true;
      readonly attempt: Attempt;
      /** A callback is to be told. */ readonly told: boolean;
    }
  | { readonly ok: false; readonly code: ProblemCode };

export async function createJob(write: Write, use: CreateJob): Promise<CreatedJob> {
  const { job, attempt } = use;
  const inserted = await write.db
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
    .onConflict((conflict) => conflict.columns(["customer_id", "idempotency_key"]).doNothing())
    .executeTakeFirst();
  // The key comes first: whoever holds it decides what everybody with the same key is answered.
  if (inserted.numInsertedOrUpdatedRows !== 1n) return createdBefore(write, job);
  await write.db.insertInto("attempts").values(attemptRow(attempt, job.spec.job_type)).execute();
  const used = await write.db
    .updateTable("revisions")
    .set({ used_by: attempt.id })
    .where("revision", "=", use.revision)
    .where("used_by", "is", null)
    .executeTakeFirst();
  if (used.numUpdatedRows !== 1n) throw new AimError("revision_used");
  const told = await tellCallbacks(write, {
    name: "attempt.accepted",
    attempt,
    job,
    now: job.created,
  });
  return { ok: true, attempt, told };
}

async function createdBefore(write: Write, job: Job): Promise<CreatedJob> {
  const before = await write.db
    .selectFrom("jobs")
    .innerJoin("attempts", "attempts.job_id", "jobs.id")
    .selectAll("attempts")
    .select("jobs.request_digest")
    .where("jobs.customer_id", "=", job.customer)
    .where("jobs.idempotency_key", "=", job.idempotencyKey)
    .orderBy("attempts.number")
    .executeTakeFirstOrThrow();
  if (before.request_digest !== job.requestDigest) {
    return { ok: false, code: "idempotency_mismatch" };
  }
  return { ok: true, attempt: attemptOf(before), told: false };
}
