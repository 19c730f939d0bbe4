// Forgets an ended job: its attempts with journals, heartbeats, late reports, seals, manifests and deliveries. Its usage
// stays, and so does its key: what was asked for once is not done a second time.
import type { ProblemCode } from "@aim/contract";
import { isTerminal } from "@aim/contract";
import type { Write } from "../transaction.ts";
import { attemptOf } from "./attempt-row.ts";
import { writeAudit, type Audited } from "./audit.ts";
import { bumpRights } from "./rights-epoch.ts";

export interface DeleteJob extends Audited {
  readonly jobId: string;
  readonly now: number;
}

const OF_ATTEMPT = [
  "deliveries",
  "outbox",
  "heartbeats",
  "late_reports",
  "seals",
  "manifests",
] as const;

/** Answers why it was not deleted, or null. */
export async function deleteJob(write: Write, use: DeleteJob): Promise<ProblemCode | null> {
  const { db, rows } = write;
  const job = await rows
    .hold(db.selectFrom("jobs").selectAll().where("id", "=", use.jobId))
    .executeTakeFirst();
  if (job === undefined) return "not_found";
  const attempts = await rows
    .hold(db.selectFrom("attempts").selectAll().where("job_id", "=", job.id))
    .execute();
  if (!attempts.map(attemptOf).every(({ state }) => isTerminal(state))) return "state_conflict";
  await db
    .insertInto("deleted_jobs")
    .values({
      id: job.id,
      customer_id: job.customer_id,
      idempotency_key: job.idempotency_key,
      deleted_ms: Math.round(use.now),
    })
    .execute();
  const ids = attempts.map(({ id }) => id);
  // Rows, names and gaps go with their journal.
  await db.deleteFrom("journals").where("job_id", "=", job.id).execute();
  for (const table of OF_ATTEMPT) {
    await db.deleteFrom(table).where("attempt_id", "in", ids).execute();
  }
  await db.deleteFrom("attempts").where("job_id", "=", job.id).execute();
  await db.deleteFrom("jobs").where("id", "=", job.id).execute();
  // Whoever watches it is told at once.
  await bumpRights(write);
  await writeAudit(write, use.audit);
  return null;
}
