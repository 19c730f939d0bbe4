// A retry: one more attempt of an ended job, once for each idempotency key. Who may and when is `mayRetry`.
import type { ProblemCode } from "@aim/contract";
import { waitingAttempt, type Attempt, type Job } from "../../execution/attempt.ts";
import { mayRetry } from "../../execution/retry.ts";
import type { Write } from "../transaction.ts";
import { attemptOf, attemptRow, jobOf } from "./attempt-row.ts";
import { writeAudit, type Audited } from "./audit.ts";
import type { CreatedJob } from "./create-job.ts";
import { tellCallbacks } from "./tell-callbacks.ts";

export interface CreateAttempt extends Audited {
  readonly jobId: string;
  /** Of the new attempt. */
  readonly id: string;
  readonly idempotencyKey: string;
  /** Somebody looked at the targets. */
  readonly confirmed: boolean;
  readonly now: number;
}

export async function createAttempt(write: Write, use: CreateAttempt): Promise<CreatedJob> {
  // Holding the job keeps two retries apart; the index on live attempts would only refuse the second.
  const row = await write.rows
    .hold(write.db.selectFrom("jobs").selectAll().where("id", "=", use.jobId))
    .executeTakeFirst();
  if (row === undefined) return refused("not_found");
  const job = jobOf(row);
  const rows = await write.db
    .selectFrom("attempts")
    .selectAll()
    .where("job_id", "=", job.id)
    .orderBy("number")
    .execute();
  const before = rows.find(({ idempotency_key: key }) => key === use.idempotencyKey);
  if (before !== undefined) {
    return { ok: true, attempt: attemptOf(before), fresh: false, told: false };
  }
  const attempts = rows.map(attemptOf);
  const last = attempts.at(-1);
  if (last === undefined) return refused("not_found");
  const code = mayRetry({ last, job, confirmed: use.confirmed, now: use.now });
  return code === null ? make(write, use, { job, number: last.number + 1 }) : refused(code);
}

function refused(code: ProblemCode): CreatedJob {
  return { ok: false, code };
}

async function make(
  write: Write,
  use: CreateAttempt,
  of: { readonly job: Job; readonly number: number },
): Promise<CreatedJob> {
  const { job, number } = of;
  const attempt: Attempt = waitingAttempt({
    id: use.id,
    jobId: job.id,
    customer: job.customer,
    number,
    deadline: use.now + job.spec.timeout_s * 1000,
    graceMs: job.spec.grace_s * 1000,
    created: use.now,
  });
  await write.db
    .insertInto("attempts")
    .values({ ...attemptRow(attempt, job.spec.job_type), idempotency_key: use.idempotencyKey })
    .execute();
  const telling = { name: "attempt.accepted", attempt, job, now: use.now } as const;
  const told = await tellCallbacks(write, telling);
  await writeAudit(write, use.audit);
  return { ok: true, attempt, fresh: true, told };
}
