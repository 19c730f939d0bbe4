import { expect, test } from "vitest";
import fc from "fast-check";
import { ACTION_NAMES, ROLES, type GrantedRole, type Principal } from "@aim/contract";
import { can } from "./can.ts";
import { heldOf } from "./grants.ts";

const aGrant: fc.Arbitrary<GrantedRole> = fc.record({
  role: fc.constantFrom(...ROLES),
  customer: fc.constantFrom("acme", "beta", null),
  job_types: fc.constantFrom(null, ["one"], ["two"], ["one", "two"]),
});

const withRoles = (roles: readonly GrantedRole[]): Principal => ({
  kind: "user",
  id: "usr_1",
  name: "ada",
  roles: [...roles],
});

test("whoever is given only what another has can do nothing that the other cannot", () => {
  const resources = ["acme", "beta", undefined].flatMap((customer) =>
    ["usr_1", "usr_2"].flatMap((owner) =>
      ["one", "two"].map((jobType) => ({
        owner,
        jobType,
        ...(customer === undefined ? {} : { customer }),
      })),
    ),
  );
  fc.assert(
    fc.property(fc.array(aGrant, { maxLength: 3 }), fc.array(aGrant, { maxLength: 3 }), (a, b) => {
      const given = withRoles(heldOf(a, b));
      for (const action of ACTION_NAMES) {
        for (const resource of resources) {
          if (can(given, action, resource)) expect(can(withRoles(b), action, resource)).toBe(true);
        }
      }
    }),
    { numRuns: 300, verbose: true },
  );
});

test("one's own roles are one's own to give, and an administrator's those below", () => {
  const all: GrantedRole[] = ROLES.map((role) => ({ role, customer: null, job_types: null }));
  expect(heldOf(all, all)).toEqual(all);
  const admin: GrantedRole[] = [{ role: "platform-admin", customer: null, job_types: null }];
  expect(heldOf(all, admin).map(({ role }) => role)).toEqual([
    "viewer",
    "operator",
    "approver",
    "customer-admin",
    "platform-admin",
  ]);
});
