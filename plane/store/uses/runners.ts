// Runners that registered: who they are, when they were last heard of, and whether they are to take more.
import type { Kysely, Selectable } from "kysely";
import type { Register, RuntimeFacts } from "@aim/contract";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";
import { writeAudit, type Audited } from "./audit.ts";
import { HELD } from "./spelt-states.ts";

/** Every start of a runner is another one: those not heard of for this long are forgotten. */
const FORGET_MS = 7 * 24 * 3_600_000;

export interface StoredRunner {
  readonly register: Register;
  /** The identity it registered with. */
  readonly name: string;
  readonly registered: number;
  readonly seen: number;
  readonly draining: boolean;
}

/** A runner that registers again keeps its first moment and its wish to drain. */
export async function saveRunner(
  { db }: Write,
  use: { readonly register: Register; readonly name: string; readonly now: number },
): Promise<void> {
  const { register } = use;
  const facts = {
    name: use.name,
    runner_kind: register.runner_kind,
    job_types: JSON.stringify(register.job_types),
    runtime: JSON.stringify(register.runtime),
    slots: register.slots,
    seen_ms: Math.round(use.now),
  };
  await db
    .insertInto("runners")
    .values({
      id: register.runner_instance_id,
      // Runners serve every customer: what they may take stands in their token.
      customer_id: "",
      ...facts,
      registered_ms: Math.round(use.now),
      draining: 0,
    })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(facts))
    .execute();
  await db
    .deleteFrom("runners")
    .where("seen_ms", "<", Math.round(use.now) - FORGET_MS)
    .execute();
}

/** Answers the runner as it is known, having noted that it was heard of; null for an unknown one. */
export async function touchRunner(
  { db }: Write,
  use: { readonly id: string; readonly now: number },
): Promise<StoredRunner | null> {
  const row = await db
    .updateTable("runners")
    .set({ seen_ms: Math.round(use.now) })
    .where("id", "=", use.id)
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : runnerOf(row);
}

/** Answers false for an unknown runner. A drain is never taken back: the runner ends. */
export async function drainRunner(
  write: Write,
  use: Audited & { readonly id: string },
): Promise<boolean> {
  const { numUpdatedRows } = await write.db
    .updateTable("runners")
    .set({ draining: 1 })
    .where("id", "=", use.id)
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) return false;
  await writeAudit(write, use.audit);
  return true;
}

export interface ListedRunner extends StoredRunner {
  /** Attempts that it holds now. */
  readonly held: number;
}

/** Those heard of last first. */
export async function listRunners(
  db: Kysely<Schema>,
  use: { readonly limit: number },
): Promise<ListedRunner[]> {
  const rows = await db
    .selectFrom("runners")
    .selectAll()
    .orderBy("seen_ms", "desc")
    .orderBy("id")
    .limit(use.limit)
    .execute();
  const held = await db
    .selectFrom("attempts")
    .select((query) => ["runner", query.fn.countAll<number>().as("held")])
    .where("state", "in", HELD)
    .groupBy("runner")
    .execute();
  const heldBy = new Map(held.map((row) => [row.runner, row.held]));
  return rows.map((row) => ({ ...runnerOf(row), held: heldBy.get(row.id) ?? 0 }));
}

function runnerOf(row: Selectable<Schema["runners"]>): StoredRunner {
  return {
    register: {
      runner_instance_id: row.id,
      runner_kind: row.runner_kind as Register["runner_kind"],
      job_types: JSON.parse(row.job_types) as string[],
      slots: row.slots,
      runtime: JSON.parse(row.runtime) as RuntimeFacts,
    },
    name: row.name,
    registered: row.registered_ms,
    seen: row.seen_ms,
    draining: row.draining === 1,
  };
}
