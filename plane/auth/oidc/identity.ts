// Who somebody is by the identity provider, and what that makes of them here. Pure.
import { canonicalJson, type GrantedRole } from "@aim/contract";
import { hashOf } from "../secrets.ts";

export interface Identity {
  readonly issuer: string;
  /** Never given to anybody else by the issuer. A name or an address may be. */
  readonly subject: string;
  /** Name of the session there; null where the provider has none. */
  readonly sid: string | null;
  readonly name: string | null;
  readonly groups: readonly string[];
}

export interface GroupRole extends GrantedRole {
  readonly group: string;
}

type Claims = Readonly<Record<string, unknown>>;
export interface ClaimNames {
  readonly groups: string;
  readonly name: string;
}

const SUBJECT_MAX = 255;

/** Null for claims without a usable subject. */
export function identityOf(claims: Claims, names: ClaimNames): Identity | null {
  const { iss, sid, sub } = claims;
  if (typeof iss !== "string" || typeof sub !== "string") return null;
  if (sub === "" || sub.length > SUBJECT_MAX) return null;
  const name = claims[names.name];
  return {
    issuer: iss,
    subject: sub,
    sid: typeof sid === "string" ? sid : null,
    name: typeof name === "string" ? name : null,
    groups: textsIn(claims[names.groups]),
  };
}

/** Some providers send one group as a text. */
function textsIn(claim: unknown): string[] {
  const found = Array.isArray(claim) ? (claim as unknown[]) : [claim];
  return found.filter((one) => typeof one === "string");
}

/** What the groups are worth here, each role once. Names of groups are compared letter by letter. */
export function rolesOf(groups: readonly string[], map: readonly GroupRole[]): GrantedRole[] {
  const held = new Set(groups);
  const found = map
    .filter(({ group }) => held.has(group))
    .map(({ role, customer, job_types }) => ({ role, customer, job_types }));
  return [...new Map(found.map((one) => [canonicalJson(one), one])).values()];
}

const USABLE = /^[a-z0-9][a-z0-9._@-]{0,62}$/;
/** Names that are made here: nobody may take somebody else's by choosing it at the provider. */
const MADE = "oidc-";

/** What a new user may be called, best first. The others are made of issuer and subject and always the same. */
export function namesOf({ issuer, name, subject }: Identity): string[] {
  const digest = digestOf(issuer, subject);
  const wanted = (name ?? "").trim().toLowerCase().replaceAll(/\s+/g, ".");
  const made = [10, 40].map((length) => `${MADE}${digest.slice(0, length)}`);
  return USABLE.test(wanted) && !wanted.startsWith(MADE) ? [wanted, ...made] : made;
}

/** A name of the provider's by which rows are found, without keeping it. */
export function digestOf(issuer: string, value: string): string {
  return hashOf(JSON.stringify([issuer, value]));
}
