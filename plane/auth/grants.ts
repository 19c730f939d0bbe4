// Roles that are given on: to a token, which never may more than its maker does now. Pure.
import type { GrantedRole, Role } from "@aim/contract";

/** Roles whose rights another role has as well. An auditor's and a runner's are nobody else's. */
const BELOW: Partial<Record<Role, readonly Role[]>> = {
  "customer-admin": ["viewer", "operator", "approver"],
  "platform-admin": ["viewer", "operator", "approver", "customer-admin"],
};

/** Those of `wanted` that `held` has in whole. */
export function heldOf(
  wanted: readonly GrantedRole[],
  held: readonly GrantedRole[],
): GrantedRole[] {
  return wanted.filter((one) => held.some((other) => covers(other, one)));
}

/** Whether somebody may have all of them: a runner is no user, and whoever runs the platform runs all of it. */
export function anybodyHas(roles: readonly GrantedRole[]): boolean {
  return roles.every(
    ({ customer, job_types, role }) =>
      role !== "runner" && (role !== "platform-admin" || (customer ?? job_types) === null),
  );
}

function covers(held: GrantedRole, wanted: GrantedRole): boolean {
  const role = held.role === wanted.role || (BELOW[held.role]?.includes(wanted.role) ?? false);
  const customer = held.customer === null || held.customer === wanted.customer;
  return role && customer && coversTypes(held.job_types, wanted.job_types);
}

function coversTypes(held: GrantedRole["job_types"], wanted: GrantedRole["job_types"]): boolean {
  if (held === null) return true;
  return wanted !== null && wanted.every((type) => held.includes(type));
}
