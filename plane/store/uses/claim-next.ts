// Hands the oldest waiting attempt to a runner. A repeated claim with the same id gets the same answer.
import { sql } from "kysely";
import type { BundleFile } from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import type { Write } from "../transaction.ts";
import { applyTo } from "./apply-step.ts";
import { attemptOf, jobOf } from "./attempt-row.ts";

export interface ClaimNext {
  readonly runner: string;
  readonly claimId: string;
  readonly ttlMs: number;
  readonly jobTypes: readonly string[];
  readonly now: number;
}

export interface Claimed {
  readonly attempt: Attempt;
  readonly job: Job;
  readonly files: readonly BundleFile[];
}

export async function claimNext(write: Write, use: ClaimNext): Promise<Claimed | null> {
  const row = await find(write, use);
  if (row === undefined) return null;
  const { runner, claimId, ttlMs, now } = use;
  const command = { do: "claim", runner, claimId, ttlMs } as const;
  const applied = await applyTo(write, { attemptId: row.id, command, now }, attemptOf(row));
  if (applied.code !== null) return null;
  const job = jobOf({
    ...row,
    id: row.job_id,
    created_ms: row.job_created_ms,
    idempotency_key: row.job_idempotency_key,
  });
  return { attempt: applied.attempt, job, files: JSON.parse(row.files) as BundleFile[] };
}

/** What this claim was given before, or else the oldest that waits, in one statement with all that a grant tells. */
async function find(write: Write, use: ClaimNext) {
  return write.db
    .selectFrom("attempts")
    .innerJoin("jobs", "jobs.id", "attempts.job_id")
    .innerJoin("bundles", (join) =>
      join
        .onRef("bundles.customer_id", "=", "jobs.customer_id")
        .onRef("bundles.digest", "=", "jobs.bundle_digest"),
    )
    .selectAll("attempts")
    .select(["playbook", "title", "request_digest", "spec", "bundle_digest", "files"])
    .select(["owner", "approved_by"])
    .select(["jobs.created_ms as job_created_ms", "jobs.idempotency_key as job_idempotency_key"])
    .where("attempts.id", "=", ({ fn }) =>
      fn.coalesce(claimedBefore(write, use), oldestQueued(write, use)),
    )
    .executeTakeFirst();
}

function claimedBefore({ db }: Write, use: ClaimNext) {
  return db
    .selectFrom("attempts")
    .select("id")
    .where("claim_id", "=", use.claimId)
    .where("runner", "=", use.runner)
    .limit(1);
}

function oldestQueued({ db, rows }: Write, use: ClaimNext) {
  const waiting = db
    .selectFrom("attempts")
    .select("id")
    // Spelt out, so that a prepared statement still finds the index of waiting attempts.
    .where("state", "=", sql.lit("queued"))
    .where("deadline_ms", ">", Math.round(use.now))
    .where("job_type", "in", [...use.jobTypes])
    .orderBy("created_ms")
    .orderBy("id")
    .limit(1);
  // An attempt that another plane is handing out right now is left to it.
  return rows.holdFree(waiting);
}
