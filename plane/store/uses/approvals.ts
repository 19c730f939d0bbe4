// Who approved which revision, and which revisions are still good to be looked at.
import type { Kysely } from "kysely";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";
import { writeAudit, type Audited } from "./audit.ts";
import { revisionOf, type StoredRevision } from "./revisions.ts";

export interface StoredApproval {
  readonly revision: string;
  readonly customer: string;
  /** Id and name of the principal that approved. */
  readonly by: string;
  readonly byName: string;
  readonly approved: number;
  /** When the revision ends that was approved. */
  readonly expires: number;
}

/** The first approval that holds stands and is told of; one that is over makes room. */
export async function saveApproval(
  write: Write,
  use: StoredApproval & Audited,
): Promise<StoredApproval> {
  const { db } = write;
  const now = Math.round(use.approved);
  await db
    .deleteFrom("approvals")
    .where("revision", "=", use.revision)
    .where("expires_ms", "<=", now)
    .execute();
  const inserted = await db
    .insertInto("approvals")
    .values({
      revision: use.revision,
      customer_id: use.customer,
      approved_by: use.by,
      approved_by_name: use.byName,
      approved_ms: now,
      expires_ms: Math.round(use.expires),
    })
    .onConflict((conflict) => conflict.column("revision").doNothing())
    .executeTakeFirst();
  const row = await db
    .selectFrom("approvals")
    .selectAll()
    .where("revision", "=", use.revision)
    .executeTakeFirstOrThrow();
  if (inserted.numInsertedOrUpdatedRows === 1n) await writeAudit(write, use.audit);
  return approvalOf(row);
}

/** Null for none, or one that is over. */
export async function readApproval(
  db: Kysely<Schema>,
  use: { readonly revision: string; readonly now: number },
): Promise<StoredApproval | null> {
  const row = await db
    .selectFrom("approvals")
    .selectAll()
    .where("revision", "=", use.revision)
    .where("expires_ms", ">", Math.round(use.now))
    .executeTakeFirst();
  return row === undefined ? null : approvalOf(row);
}

/** Revisions that may still be executed, newest first. */
export async function listRevisions(
  db: Kysely<Schema>,
  use: { readonly now: number; readonly limit: number },
): Promise<StoredRevision[]> {
  const rows = await db
    .selectFrom("revisions")
    .selectAll()
    .where("used_by", "is", null)
    .where("review", "<>", "{}")
    .where("expires_ms", ">", Math.round(use.now))
    .orderBy("created_ms", "desc")
    .limit(use.limit)
    .execute();
  return rows.map(revisionOf);
}

function approvalOf(row: Schema["approvals"]): StoredApproval {
  return {
    revision: row.revision,
    customer: row.customer_id,
    by: row.approved_by,
    byName: row.approved_by_name,
    approved: row.approved_ms,
    expires: row.expires_ms,
  };
}
