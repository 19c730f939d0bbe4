// Hands the oldest waiting attempt to a runner. A repeated claim with the same id gets the same answer.
import type { Transaction } from "kysely";
import type { BundleFile } from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import type { Schema } from "../schema.ts";
import { applyStep } from "./apply-step.ts";
import { jobOf } from "./attempt-row.ts";

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

export async function claimNext(db: Transaction<Schema>, use: ClaimNext): Promise<Claimed | null> {
  const id = (await claimedBefore(db, use)) ?? (await oldestQueued(db, use));
  if (id === undefined) return null;
  const { runner, claimId, ttlMs, now } = use;
  const applied = await applyStep(db, {
    attemptId: id,
    command: { do: "claim", runner, claimId, ttlMs },
    now,
  });
  if (applied === null || applied.code !== null) return null;
  const job = jobOf(
    await db
      .selectFrom("jobs")
      .selectAll()
      .where("id", "=", applied.attempt.jobId)
      .executeTakeFirstOrThrow(),
  );
  const bundle = await db
    .selectFrom("bundles")
    .select("files")
    .where("customer_id", "=", job.customer)
    .where("digest", "=", job.bundleDigest)
    .executeTakeFirstOrThrow();
  return { attempt: applied.attempt, job, files: JSON.parse(bundle.files) as BundleFile[] };
}

async function claimedBefore(db: Transaction<Schema>, use: ClaimNext): Promise<string | undefined> {
  const row = await db
    .selectFrom("attempts")
    .select("id")
    .where("claim_id", "=", use.claimId)
    .where("runner", "=", use.runner)
    .executeTakeFirst();
  return row?.id;
}

async function oldestQueued(db: Transaction<Schema>, use: ClaimNext): Promise<string | undefined> {
  const row = await db
    .selectFrom("attempts")
    .select("id")
    .where("state", "=", "queued")
    .where("deadline_ms", ">", Math.round(use.now))
    .where("job_type", "in", [...use.jobTypes])
    .orderBy("created_ms")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}
