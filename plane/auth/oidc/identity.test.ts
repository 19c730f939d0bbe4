import { expect, test } from "vitest";
import type { GrantedRole } from "@aim/contract";
import { identityOf, namesOf, rolesOf, type Identity } from "./identity.ts";

const ADA: Identity = {
  issuer: "https://id.example",
  subject: "1",
  sid: null,
  name: "ada",
  groups: [],
};
const names = { groups: "groups", name: "preferred_username" };
const claims = { iss: ADA.issuer, sub: "1" };

test.for<readonly [unknown, string]>([
  ["ada", "ada"],
  ["  Ada  Lovelace ", "ada.lovelace"],
  ["ADA@example.test", "ada@example.test"],
  ["a".repeat(63), "a".repeat(63)],
])("the name %j becomes %s", ([name, wanted]) => {
  const identity = identityOf({ ...claims, preferred_username: name }, names);
  expect(namesOf(identity ?? ADA)[0]).toBe(wanted);
});

test.for([
  [undefined],
  [7],
  [""],
  ["-ada"],
  ["ad\u00e4"],
  ["CORP\\ada"],
  ["a".repeat(64)],
  ["<script>"],
  ["oidc-0123456789"],
  ["OIDC-mine"],
])("the name %j is no name here: one is made of issuer and subject", ([name]) => {
  const identity = identityOf({ ...claims, preferred_username: name }, names);
  expect(namesOf(identity ?? ADA)).toEqual([
    expect.stringMatching(/^oidc-[0-9a-f]{10}$/),
    expect.stringMatching(/^oidc-[0-9a-f]{40}$/),
  ]);
});

test("names that are made are the same each time, and another's for another issuer or subject", () => {
  const made = (more: Partial<Identity>) => namesOf({ ...ADA, name: null, ...more })[0];
  expect(made({})).toBe(made({}));
  expect(
    new Set([made({}), made({ subject: "2" }), made({ issuer: "https://other.example" })]).size,
  ).toBe(3);
});

test.for([[{}], [{ sub: "" }], [{ sub: 1 }], [{ sub: "x".repeat(256) }], [{ iss: undefined }]])(
  "claims %j are nobody",
  ([odd]) => {
    expect(identityOf({ iss: ADA.issuer, ...odd }, names)).toBeNull();
  },
);

test("groups are a list of texts or one text, and nothing else", () => {
  const groups = (found: unknown) => identityOf({ ...claims, groups: found }, names)?.groups;
  expect(groups(["a", 1, null, "b"])).toEqual(["a", "b"]);
  expect(groups("a")).toEqual(["a"]);
  expect([groups(undefined), groups({ a: true }), groups(null)]).toEqual([[], [], []]);
});

test("groups give their roles, each once, and are compared letter by letter", () => {
  const viewer: GrantedRole = { role: "viewer", customer: "acme", job_types: null };
  const operator: GrantedRole = { role: "operator", customer: null, job_types: ["one.run"] };
  const map = [
    { group: "a", ...viewer },
    { group: "b", ...viewer },
    { group: "b", ...operator },
  ];
  expect(rolesOf(["b", "a"], map)).toEqual([viewer, operator]);
  expect(rolesOf(["A", "c"], map)).toEqual([]);
});
