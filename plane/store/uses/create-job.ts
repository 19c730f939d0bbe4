// Accepts a job: job, first attempt and the use of its revision, in one transaction, once for each idempotency key.
import { AimError, canonicalJson, type ProblemCode } from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import type { Write } from "../transaction.ts";
import { attemptOf, attemptRow } from "./attempt-row.ts";
import { writeAudit, type Audited } from "./audit.ts";
import { tellCallbacks } from "./tell-callbacks.ts";

export interface CreateJob extends Audited {
  readonly job: Job;
  readonly attempt: Attempt;
  /** The revision that this job uses up; null for a job that came as a spec. */
  readonly revision: string | null;
}

export type CreatedJob =
  | {
      readonly ok: true;
      /** The one that was made with this key, now or before. */
      readonly attempt: Attempt;
      /** False when the key had made it before. */
      readonly fresh: boolean;
      /** A callback is to be told. */
      readonly told: boolean;
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
      owner: job.owner,
      approved_by: job.approvedBy,
    })
    .onConflict((conflict) => conflict.columns(["customer_id", "idempotency_key"]).doNothing())
    .executeTakeFirst();
  // The key comes first: whoever holds it decides what everybody with the same key is answered.
  if (inserted.numInsertedOrUpdatedRows !== 1n) return createdBefore(write, job);
  await refuseDeleted(write, job);
  await write.db.insertInto("attempts").values(attemptRow(attempt, job.spec.job_type)).execute();
  if (use.revision !== null) await useUp(write, use.revision, attempt.id);
  const now = job.created;
  const told = await tellCallbacks(write, { name: "attempt.accepted", attempt, job, now });
  await writeAudit(write, use.audit);
  return { ok: true, attempt, fresh: true, told };
}

/** Asked after the insert: a deletion at the same time has then been waited for. */
async function refuseDeleted({ db }: Write, job: Job): Promise<void> {
  const deleted = await db
    .selectFrom("deleted_jobs")
    .select("id")
    .where("customer_id", "=", job.customer)
    .where("idempotency_key", "=", job.idempotencyKey)
    .executeTakeFirst();
  if (deleted !== undefined) throw new AimError("job_deleted");
}

async function useUp(write: Write, revision: string, attemptId: string): Promise<void> {
  const used = await write.db
    .updateTable("revisions")
    .set({ used_by: attemptId })
    .where("revision", "=", revision)
    .where("used_by", "is", null)
    .executeTakeFirst();
  if (used.numUpdatedRows !== 1n) throw new AimError("revision_used");
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
  return { ok: true, attempt: attemptOf(before), fresh: false, told: false };
}
