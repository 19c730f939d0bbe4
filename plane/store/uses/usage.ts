// What ended attempts took, for whoever bills it: written with the end, read in the order of the writing.
import type { Kysely } from "kysely";
import type { Manifest } from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";

const CURSOR = "usage_cursor";

export interface Ended {
  readonly attempt: Attempt;
  readonly job: Job;
  /** Null when nothing was kept. */
  readonly manifest: Manifest | null;
}

/** Part of the transaction that ends the attempt. */
export async function writeUsage(write: Write, { attempt, job, manifest }: Ended): Promise<void> {
  const { started, ended } = attempt;
  const taken = started === null || ended === null ? 0 : Math.max(0, Math.round(ended - started));
  await write.db
    .insertInto("usage")
    .values({
      cursor: await nextCursor(write),
      attempt_id: attempt.id,
      customer_id: attempt.customer,
      job_id: attempt.jobId,
      job_type: job.spec.job_type,
      runner_kind: await kindOf(write, attempt.runner),
      state: attempt.state,
      attempt_ms: taken,
      artifact_bytes: manifest?.files.reduce((sum, { size }) => sum + size, 0) ?? 0,
      ended_ms: Math.round(ended ?? 0),
    })
    .execute();
}

async function nextCursor(write: Write): Promise<number> {
  const row = await write.rows
    .hold(write.db.selectFrom("meta").select("value").where("key", "=", CURSOR))
    .executeTakeFirstOrThrow();
  const next = Number(row.value) + 1;
  await write.db
    .updateTable("meta")
    .set({ value: String(next) })
    .where("key", "=", CURSOR)
    .execute();
  return next;
}

async function kindOf(write: Write, runner: string | null): Promise<string | null> {
  if (runner === null) return null;
  const row = await write.db
    .selectFrom("runners")
    .select("runner_kind")
    .where("id", "=", runner)
    .executeTakeFirst();
  return row?.runner_kind ?? null;
}

export async function readUsage(
  db: Kysely<Schema>,
  use: { readonly after: number; readonly limit: number },
): Promise<Schema["usage"][]> {
  return db
    .selectFrom("usage")
    .selectAll()
    .where("cursor", ">", use.after)
    .orderBy("cursor")
    .limit(use.limit)
    .execute();
}
