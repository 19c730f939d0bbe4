// Hands the oldest waiting attempts to those who ask. A repeated claim with the same id gets the same answer.
import { sql } from "kysely";
import type { BundleFile } from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import { step } from "../../execution/step.ts";
import type { Write } from "../transaction.ts";
import { attemptOf, jobOf } from "./attempt-row.ts";
import { QUEUED } from "./spelt-states.ts";

export interface Claim {
  readonly runner: string;
  readonly claimId: string;
}

export interface ClaimNext extends Claim {
  readonly ttlMs: number;
  readonly jobTypes: readonly string[];
  readonly now: number;
}

export interface ClaimWaiting extends Omit<ClaimNext, keyof Claim> {
  /** Of runners that take the same job types. */
  readonly claims: readonly Claim[];
}

export interface Claimed {
  readonly attempt: Attempt;
  readonly job: Job;
  readonly files: readonly BundleFile[];
}

export async function claimNext(write: Write, use: ClaimNext): Promise<Claimed | null> {
  const { runner, claimId, ...of } = use;
  const [claimed = null] = await claimWaiting(write, { ...of, claims: [{ runner, claimId }] });
  return claimed;
}

/** One answer for each claim, in their order; null for one that nothing waits for. */
export async function claimWaiting(write: Write, use: ClaimWaiting): Promise<(Claimed | null)[]> {
  const rows = await find(write, use);
  const before = new Map(rows.map((row) => [keyOf(row.runner, row.claim_id), row]));
  const waiting = rows.filter(({ state }) => state === "queued");
  const answers: (Claimed | null)[] = [];
  const taken: Attempt[] = [];
  for (const claim of use.claims) {
    const row = before.get(keyOf(claim.runner, claim.claimId)) ?? waiting.shift();
    const attempt = row === undefined ? null : lease(attemptOf(row), claim, use);
    if (row === undefined || attempt === null) {
      answers.push(null);
      continue;
    }
    if (row.state === "queued") taken.push(attempt);
    answers.push({ attempt, job: jobIn(row), files: JSON.parse(row.files) as BundleFile[] });
  }
  await writeLeases(write, taken);
  return answers;
}

function keyOf(runner: string | null, claimId: string | null): string {
  return `${runner ?? ""} ${claimId ?? ""}`;
}

function lease(attempt: Attempt, claim: Claim, { ttlMs, now }: ClaimWaiting): Attempt | null {
  const decision = step(attempt, { do: "claim", ...claim, ttlMs }, now);
  return decision.ok ? { ...attempt, ...decision.changes } : null;
}

type Found = Awaited<ReturnType<typeof find>>[number];

function jobIn(row: Found): Job {
  return jobOf({
    ...row,
    id: row.job_id,
    created_ms: row.job_created_ms,
    idempotency_key: row.job_idempotency_key,
  });
}

/** What these claims were given before, and the oldest that wait, in one statement with all that a grant tells. */
async function find(write: Write, use: ClaimWaiting) {
  const before = claimedBefore(write, use);
  const waiting = oldestQueued(write, use).as("waiting");
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
    .where("attempts.id", "in", (where) =>
      before.unionAll(where.selectFrom(waiting).select("waiting.id")),
    )
    .orderBy("attempts.created_ms")
    .orderBy("attempts.id")
    .execute();
}

function claimedBefore({ db }: Write, { claims }: ClaimWaiting) {
  return db
    .selectFrom("attempts")
    .select("id")
    .where(
      "claim_id",
      "in",
      claims.map(({ claimId }) => claimId),
    );
}

function oldestQueued({ db, rows }: Write, use: ClaimWaiting) {
  const waiting = db
    .selectFrom("attempts")
    .select("id")
    .where("state", "=", QUEUED)
    // An expression, so that no planner reads all that wait by deadline and sorts them, instead of the first by age.
    .where(sql`deadline_ms + 0`, ">", Math.round(use.now))
    .where("job_type", "in", [...use.jobTypes])
    .orderBy("created_ms")
    .orderBy("id")
    // Spelt out too: a plan made for any limit expects a tenth of all rows and would read the whole table.
    .limit(sql.lit(use.claims.length));
  // An attempt that another plane is handing out right now is left to it.
  return rows.holdFree(waiting);
}

/** All leases in one statement, each guarded by the state and epoch that it was decided on. */
async function writeLeases({ db }: Write, taken: readonly Attempt[]): Promise<void> {
  if (taken.length === 0) return;
  const rows = taken.map(
    ({ id, epoch, runner, claimId, leaseExpires, started }) => sql`(
      CAST(${id} AS TEXT), CAST(${epoch} AS BIGINT), CAST(${runner} AS TEXT), CAST(${claimId} AS TEXT),
      CAST(${Math.round(leaseExpires ?? 0)} AS BIGINT), CAST(${Math.round(started ?? 0)} AS BIGINT))`,
  );
  const { numAffectedRows } = await sql`
    WITH taken (id, epoch, runner, claim_id, lease_expires_ms, started_ms) AS (VALUES ${sql.join(rows)})
    UPDATE attempts SET state = 'leased', epoch = taken.epoch, runner = taken.runner,
      claim_id = taken.claim_id, lease_expires_ms = taken.lease_expires_ms, started_ms = taken.started_ms
    FROM taken
    WHERE attempts.id = taken.id AND attempts.state = 'queued' AND attempts.epoch = taken.epoch - 1`.execute(
    db,
  );
  if (numAffectedRows !== BigInt(taken.length)) throw new Error("an attempt moved under our hands");
}
