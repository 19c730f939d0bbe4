// What ended attempts took, for whoever bills it: written with the end, read in the order of the writing.
import type { Manifest } from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";

const CURSOR = "usage_cursor";
/** Rows that one reading numbers at most. */
const NUMBERED_MAX = 10_000;

export interface Ended {
  readonly attempt: Attempt;
  readonly job: Job;
  /** Null when nothing was kept. */
  readonly manifest: Manifest | null;
}

/** Part of the transaction that ends the attempt. Has no cursor yet, so that ends never wait for each other. */
export async function writeUsage(write: Write, { attempt, job, manifest }: Ended): Promise<void> {
  const { started, ended, runner } = attempt;
  const taken = started === null || ended === null ? 0 : Math.max(0, Math.round(ended - started));
  await write.db
    .insertInto("usage")
    .values((use) => ({
      cursor: null,
      attempt_id: attempt.id,
      customer_id: attempt.customer,
      job_id: attempt.jobId,
      job_type: job.spec.job_type,
      runner_kind: use.selectFrom("runners").select("runner_kind").where("id", "=", runner),
      state: attempt.state,
      attempt_ms: taken,
      artifact_bytes: manifest?.files.reduce((sum, { size }) => sum + size, 0) ?? 0,
      ended_ms: Math.round(ended ?? 0),
    }))
    .execute();
}

export type Usage = Schema["usage"] & { readonly cursor: number };

export interface ReadUsage {
  readonly after: number;
  readonly limit: number;
  /** Only what these customers took; null for all of them. */
  readonly customers: readonly string[] | null;
}

/** Rows after a cursor, those that ended since the last reading numbered now. A number never changes. */
export async function readUsage(write: Write, use: ReadUsage): Promise<Usage[]> {
  await numberEnded(write);
  if (use.customers?.length === 0) return [];
  let query = write.db
    .selectFrom("usage")
    .selectAll()
    .where("cursor", ">", use.after)
    .orderBy("cursor")
    .limit(use.limit);
  if (use.customers !== null) query = query.where("customer_id", "in", [...use.customers]);
  const rows = await query.execute();
  return rows as Usage[];
}

async function numberEnded({ db, rows }: Write): Promise<void> {
  // Readers take turns: whoever holds this row numbers, so that no cursor appears below one that was read.
  const last = await rows
    .hold(db.selectFrom("meta").select("value").where("key", "=", CURSOR))
    .executeTakeFirstOrThrow();
  const base = Number(last.value);
  const { numUpdatedRows } = await db
    .updateTable("usage")
    .from(
      db
        .selectFrom("usage")
        .select(({ fn }) => [
          "attempt_id",
          fn
            .agg<number>("row_number")
            .over((over) => over.orderBy("ended_ms").orderBy("attempt_id"))
            .as("place"),
        ])
        .where("cursor", "is", null)
        .orderBy("ended_ms")
        .orderBy("attempt_id")
        .limit(NUMBERED_MAX)
        .as("fresh"),
    )
    .set(({ eb }) => ({ cursor: eb("fresh.place", "+", base) }))
    .whereRef("usage.attempt_id", "=", "fresh.attempt_id")
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return;
  const value = String(base + Number(numUpdatedRows));
  await db.updateTable("meta").set({ value }).where("key", "=", CURSOR).execute();
}
