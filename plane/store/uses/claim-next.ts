// Hands the oldest waiting attempt to a runner. A repeated claim with the same id gets the same answer.
import type { BundleFile } from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import type { Write } from "../transaction.ts";
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

export async function claimNext(write: Write, use: ClaimNext): Promise<Claimed | null> {
  const id = (await claimedBefore(write, use)) ?? (await oldestQueued(write, use));
  if (id === undefined) return null;
  const { runner, claimId, ttlMs, now } = use;
  const applied = await applyStep(write, {
    attemptId: id,
    command: { do: "claim", runner, claimId, ttlMs },
    now,
  });
  if (applied === null || applied.code !== null) return null;
  const job = jobOf(
    await write.db
      .selectFrom("jobs")
      .selectAll()
      .where("id", "=", applied.attempt.jobId)
      .executeTakeFirstOrThrow(),
  );
  const bundle = await write.db
    .selectFrom("bundles")
    .select("files")
    .where("customer_id", "=", job.customer)
    .where("digest", "=", job.bundleDigest)
    .executeTakeFirstOrThrow();
  return { attempt: applied.attempt, job, files: JSON.parse(bundle.files) as BundleFile[] };
}

async function claimedBefore(write: Write, use: ClaimNext): Promise<string | undefined> {
  const row = await write.db
    .selectFrom("attempts")
    .select("id")
    .where("claim_id", "=", use.claimId)
    .where("runner", "=", use.runner)
    .executeTakeFirst();
  return row?.id;
}

async function oldestQueued(write: Write, use: ClaimNext): Promise<string | undefined> {
  const waiting = write.db
    .selectFrom("attempts")
    .select("id")
    .where("state", "=", "queued")
    .where("deadline_ms", ">", Math.round(use.now))
    .where("job_type", "in", [...use.jobTypes])
    .orderBy("created_ms")
    .orderBy("id")
    .limit(1);
  // An attempt that another plane is handing out right now is left to it.
  const row = await write.rows.holdFree(waiting).executeTakeFirst();
  return row?.id;
}
