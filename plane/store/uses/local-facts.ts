// What belongs to this installation: personal projects, acceptances of controllers, the latest moment written down.
import type { Kysely } from "kysely";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";
import { writeAudit, type Audited } from "./audit.ts";

export async function saveProject(
  write: Write,
  use: Audited & { readonly id: string; readonly customer: string; readonly definition: string },
): Promise<void> {
  const { definition } = use;
  await write.db
    .insertInto("projects")
    .values({ id: use.id, customer_id: use.customer, definition })
    .onConflict((conflict) => conflict.columns(["customer_id", "id"]).doUpdateSet({ definition }))
    .execute();
  await writeAudit(write, use.audit);
}

export async function readProject(
  db: Kysely<Schema>,
  use: { readonly id: string; readonly customer: string },
): Promise<string | null> {
  const row = await db
    .selectFrom("projects")
    .select("definition")
    .where("customer_id", "=", use.customer)
    .where("id", "=", use.id)
    .executeTakeFirst();
  return row?.definition ?? null;
}

export interface StoredAcceptance extends Audited {
  readonly ansibleCore: string;
  readonly callbackDigest: string;
  readonly customer: string;
  readonly passed: number;
  readonly now: number;
}

export async function saveAcceptance(write: Write, use: StoredAcceptance): Promise<void> {
  const values = { customer_id: use.customer, passed: use.passed, at_ms: Math.round(use.now) };
  await write.db
    .insertInto("acceptances")
    .values({ ansible_core: use.ansibleCore, callback_digest: use.callbackDigest, ...values })
    .onConflict((conflict) =>
      conflict.columns(["ansible_core", "callback_digest"]).doUpdateSet(values),
    )
    .execute();
  await writeAudit(write, use.audit);
}

export async function isAccepted(
  db: Kysely<Schema>,
  use: { readonly ansibleCore: string; readonly callbackDigest: string },
): Promise<boolean> {
  const row = await db
    .selectFrom("acceptances")
    .select("passed")
    .where("ansible_core", "=", use.ansibleCore)
    .where("callback_digest", "=", use.callbackDigest)
    .executeTakeFirst();
  return row !== undefined;
}

const LATEST = "latest_moment_ms";

export async function saveMoment({ db }: Write, use: { readonly now: number }): Promise<void> {
  const value = String(Math.round(use.now));
  await db
    .insertInto("meta")
    .values({ key: LATEST, value })
    .onConflict((conflict) => conflict.column("key").doUpdateSet({ value }))
    .execute();
}

export async function readMoment(db: Kysely<Schema>): Promise<number> {
  const row = await db
    .selectFrom("meta")
    .select("value")
    .where("key", "=", LATEST)
    .executeTakeFirst();
  return Number(row?.value ?? 0);
}

const EXECUTION = "execution_enabled";

/** The administrator's switch, which every plane of this database reads. */
export async function setExecution(
  write: Write,
  use: Audited & { readonly enabled: boolean },
): Promise<void> {
  const value = String(use.enabled);
  await write.db
    .insertInto("meta")
    .values({ key: EXECUTION, value })
    .onConflict((conflict) => conflict.column("key").doUpdateSet({ value }))
    .execute();
  await writeAudit(write, use.audit);
}

/** On until somebody switches it off. */
export async function readExecution(db: Kysely<Schema>): Promise<boolean> {
  const row = await db
    .selectFrom("meta")
    .select("value")
    .where("key", "=", EXECUTION)
    .executeTakeFirst();
  return row?.value !== "false";
}
