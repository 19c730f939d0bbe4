// Prepared revisions and the bundles they name.
import type { Kysely } from "kysely";
import { canonicalJson, type BundleFile } from "@aim/contract";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";
import { writeAudit, type Audited } from "./audit.ts";

export interface StoredRevision {
  readonly revision: string;
  readonly customer: string;
  readonly playbook: string;
  /** Canonical JSON of the normalized request. */
  readonly request: string;
  /** Canonical JSON of what execute compares and turns into a job. */
  readonly prepared: string;
  readonly created: number;
  readonly expires: number;
  readonly usedBy: string | null;
  /** Id of the principal that prepared it. */
  readonly owner: string;
  /** JSON of what was shown. */
  readonly review: string;
}

export interface SaveRevision extends Audited {
  readonly revision: StoredRevision;
  readonly bundleDigest: string;
  readonly files: readonly BundleFile[];
}

/** A revision prepared again before its use gets a new expiry and is shown anew. After its use the same content is another one. */
export async function saveRevision(write: Write, use: SaveRevision): Promise<void> {
  const { revision } = use;
  const { db } = write;
  const { bundleDigest: digest, files } = use;
  await saveBundle(write, { customer: revision.customer, digest, files });
  const expires_ms = Math.round(revision.expires);
  await db
    .insertInto("revisions")
    .values({
      revision: revision.revision,
      customer_id: revision.customer,
      playbook: revision.playbook,
      request: revision.request,
      prepared: revision.prepared,
      created_ms: Math.round(revision.created),
      expires_ms,
      used_by: null,
      owner: revision.owner,
      review: revision.review,
    })
    .onConflict((conflict) =>
      conflict.column("revision").doUpdateSet({ expires_ms, review: revision.review }),
    )
    .execute();
  await writeAudit(write, use.audit);
}

export interface StoredBundle {
  readonly customer: string;
  readonly digest: string;
  readonly files: readonly BundleFile[];
}

/** Keeping a bundle again does nothing. */
export async function saveBundle(write: Write, use: StoredBundle & Audited): Promise<void> {
  await write.db
    .insertInto("bundles")
    .values({ digest: use.digest, customer_id: use.customer, files: canonicalJson(use.files) })
    .onConflict((conflict) => conflict.columns(["customer_id", "digest"]).doNothing())
    .execute();
  await writeAudit(write, use.audit);
}

export async function readRevision(
  db: Kysely<Schema>,
  use: { readonly revision: string },
): Promise<StoredRevision | null> {
  const row = await db
    .selectFrom("revisions")
    .selectAll()
    .where("revision", "=", use.revision)
    .executeTakeFirst();
  return row === undefined ? null : revisionOf(row);
}

/** The revision of this playbook that was executed last, for the review's comparison. */
export async function lastExecuted(
  db: Kysely<Schema>,
  use: { readonly customer: string; readonly playbook: string },
): Promise<StoredRevision | null> {
  const row = await db
    .selectFrom("revisions")
    .innerJoin("attempts", "attempts.id", "revisions.used_by")
    .selectAll("revisions")
    .where("revisions.customer_id", "=", use.customer)
    .where("revisions.playbook", "=", use.playbook)
    .orderBy("attempts.created_ms", "desc")
    .executeTakeFirst();
  return row === undefined ? null : revisionOf(row);
}

/** How often this playbook was executed: a revision prepared anew after its use is another one. */
export async function countExecuted(
  db: Kysely<Schema>,
  use: { readonly customer: string; readonly playbook: string },
): Promise<number> {
  const row = await db
    .selectFrom("revisions")
    .select((query) => query.fn.countAll<number>().as("used"))
    .where("customer_id", "=", use.customer)
    .where("playbook", "=", use.playbook)
    .where("used_by", "is not", null)
    .executeTakeFirstOrThrow();
  return row.used;
}

export async function readBundle(
  db: Kysely<Schema>,
  use: { readonly customer: string; readonly digest: string },
): Promise<readonly BundleFile[] | null> {
  const row = await db
    .selectFrom("bundles")
    .select("files")
    .where("customer_id", "=", use.customer)
    .where("digest", "=", use.digest)
    .executeTakeFirst();
  return row === undefined ? null : (JSON.parse(row.files) as BundleFile[]);
}

export function revisionOf(row: Schema["revisions"]): StoredRevision {
  return {
    revision: row.revision,
    customer: row.customer_id,
    playbook: row.playbook,
    request: row.request,
    prepared: row.prepared,
    created: row.created_ms,
    expires: row.expires_ms,
    usedBy: row.used_by,
    owner: row.owner,
    review: row.review,
  };
}
