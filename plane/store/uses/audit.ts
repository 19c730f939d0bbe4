// The audit's rows: added in the transaction of what they tell, read in their order.
import type { Kysely, Selectable } from "kysely";
import { canonicalJson, type AuditRow } from "@aim/contract";
import { CHAIN_START, link, type AuditEntry, type ChainEnd } from "../../audit/chain.ts";
import { formatTimestamp } from "../../base/clock.ts";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";

const HEAD = "audit_head";

/** For a use that may be told of; without an entry nothing is told. */
export interface Audited {
  readonly audit?: AuditEntry;
}

/**
 * Adds a row. Part of the transaction that it tells of, and best its last statement: whoever adds waits for
 * whoever added before. When it throws, nothing has happened.
 */
export async function writeAudit(write: Write, entry: AuditEntry | undefined): Promise<void> {
  if (entry === undefined) return;
  const { db, rows } = write;
  const held = await rows
    .hold(db.selectFrom("meta").select("value").where("key", "=", HEAD))
    .executeTakeFirstOrThrow();
  const row = link(endOf(held.value), entry);
  await db
    .insertInto("audit")
    .values({
      position: row.position,
      customer_id: row.customer ?? "",
      at_ms: Math.round(entry.now),
      principal_kind: row.principal?.kind ?? null,
      principal_id: row.principal?.id ?? null,
      principal_name: row.principal?.name ?? null,
      action: row.action,
      outcome: row.outcome,
      what: canonicalJson(row.what),
      detail: canonicalJson(row.detail),
      previous: row.previous,
      hash: row.hash,
    })
    .execute();
  const value = `${row.position} ${row.hash}`;
  await db.updateTable("meta").set({ value }).where("key", "=", HEAD).execute();
}

/** For what changes no other row: a refusal, a secret that is handed out. */
export async function recordAudit(
  write: Write,
  use: { readonly entry: AuditEntry },
): Promise<void> {
  await writeAudit(write, use.entry);
}

/** Rows after a position, oldest first. */
export async function readAudit(
  db: Kysely<Schema>,
  use: { readonly after: number; readonly limit: number },
): Promise<AuditRow[]> {
  const rows = await db
    .selectFrom("audit")
    .selectAll()
    .where("position", ">", use.after)
    .orderBy("position")
    .limit(use.limit)
    .execute();
  return rows.map(rowOf);
}

export async function readAuditEnd(db: Kysely<Schema>): Promise<ChainEnd> {
  const row = await db
    .selectFrom("meta")
    .select("value")
    .where("key", "=", HEAD)
    .executeTakeFirst();
  return row === undefined ? CHAIN_START : endOf(row.value);
}

function endOf(value: string): ChainEnd {
  const [position = "", hash = ""] = value.split(" ");
  return { position: Number(position), hash };
}

function rowOf(row: Selectable<Schema["audit"]>): AuditRow {
  const { principal_kind: kind, principal_id: id, principal_name: name } = row;
  return {
    position: row.position,
    at: formatTimestamp(row.at_ms),
    customer: row.customer_id === "" ? null : row.customer_id,
    principal:
      kind === null || id === null || name === null
        ? null
        : { kind: kind as NonNullable<AuditRow["principal"]>["kind"], id, name },
    action: row.action as AuditRow["action"],
    outcome: row.outcome as AuditRow["outcome"],
    what: JSON.parse(row.what) as AuditRow["what"],
    detail: JSON.parse(row.detail) as AuditRow["detail"],
    previous: row.previous,
    hash: row.hash,
  };
}
