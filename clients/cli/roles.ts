// Roles as one types them: `role[@customer][:job_type,job_type]`.
import { ROLES, type GrantedRole } from "@aim/contract";
import { EXIT } from "./exit-codes.ts";
import { CliFault } from "./fault.ts";
import { visible } from "./render/escape.ts";

const PATTERN = /^([a-z-]+)(?:@([a-z0-9][a-z0-9_.-]{0,62}))?(?::([a-z0-9._]+(?:,[a-z0-9._]+)*))?$/;

/** Throws CliFault 64 for a text that is no role. */
export function parseRole(text: string): GrantedRole {
  const [, name, customer = null, types] = PATTERN.exec(text) ?? [];
  const role = ROLES.find((known) => known === name);
  if (role === undefined) {
    const known = ROLES.filter((one) => one !== "runner").join(", ");
    throw new CliFault(
      EXIT.usage,
      `${visible(text)} is no role. Write ROLE[@CUSTOMER][:JOB_TYPE,…] with one of ${known}.`,
    );
  }
  return { role, customer, job_types: types?.split(",") ?? null };
}

export function roleText({ role, customer, job_types }: GrantedRole): string {
  const where = customer === null ? "" : `@${customer}`;
  return `${role}${where}${job_types === null ? "" : `:${job_types.join(",")}`}`;
}
