// The chain of the audit: each row's hash is over the one before it and what the row tells. Pure.
import { createHash } from "node:crypto";
import {
  AUDIT_GENESIS,
  auditText,
  type Action,
  type AuditDetail,
  type AuditFacts,
  type AuditObject,
  type AuditRow,
  type GrantedRole,
  type Principal,
} from "@aim/contract";
import { formatTimestamp } from "../base/clock.ts";

/** What is to be told, before it has a place. */
export interface AuditEntry {
  /** Null for somebody who could not be told. */
  readonly who: Pick<Principal, "kind" | "id" | "name"> | null;
  readonly action: Action;
  readonly customer: string | null;
  readonly outcome: AuditRow["outcome"];
  readonly what: AuditObject;
  readonly detail: AuditDetail;
  readonly now: number;
}

/** Where the chain ends. */
export interface ChainEnd {
  readonly position: number;
  readonly hash: string;
}

export const CHAIN_START: ChainEnd = { position: 0, hash: AUDIT_GENESIS };

/** The row that the entry becomes behind this end. */
export function link(end: ChainEnd, entry: AuditEntry): AuditRow {
  const { who } = entry;
  const facts: AuditFacts = {
    position: end.position + 1,
    at: formatTimestamp(Math.round(entry.now)),
    customer: entry.customer,
    principal: who === null ? null : { kind: who.kind, id: who.id, name: who.name },
    action: entry.action,
    outcome: entry.outcome,
    what: entry.what,
    detail: entry.detail,
  };
  return { ...facts, previous: end.hash, hash: hashOf(end.hash, facts) };
}

export function hashOf(previous: string, facts: AuditFacts): string {
  return createHash("sha256").update(auditText(previous, facts)).digest("hex");
}

interface Doing {
  readonly action: Action;
  readonly customer: string | null;
  readonly what: AuditObject;
  readonly detail?: AuditDetail;
  readonly now: number;
}

/** Roles as the audit tells of them: job types are free text, so that only whether there are any is told. */
export function toldRoles(roles: readonly GrantedRole[]): NonNullable<AuditDetail["roles"]> {
  return roles.map(({ role, customer, job_types }) => {
    return { role, customer, narrowed: job_types !== null };
  });
}

/** The entry for what somebody does and may do. */
export function allowed(who: NonNullable<AuditEntry["who"]>, doing: Doing): AuditEntry {
  const { kind, id, name } = who;
  return { detail: {}, ...doing, who: { kind, id, name }, outcome: "allowed" };
}
