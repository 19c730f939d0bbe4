import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { MadeToken, TokenView } from "@aim/contract";
import {
  asPage,
  cookieOf,
  grant,
  makeService,
  startTeamPlane,
  type Member,
  type TeamPlane,
} from "../harness/team-plane.ts";

let plane: TeamPlane;
let ada: Member;
let adminCookie: string;
beforeAll(async () => {
  plane = await startTeamPlane();
  ada = await plane.join("ada", [grant("viewer"), grant("operator", "beta")]);
  const admin = await plane.join("root", [grant("platform-admin", null)]);
  const body = { name: admin.name, password: admin.password };
  adminCookie = cookieOf(await plane.ask({ path: "/v1/login", body }));
});
afterAll(() => plane[Symbol.asyncDispose]());

async function session(member: Member): Promise<string> {
  const body = { name: member.name, password: member.password };
  return cookieOf(await plane.ask({ path: "/v1/login", body }));
}

const make = async (body: object) =>
  plane.ask({ path: "/v1/tokens", body, ...asPage(await session(ada)) });
const whoIs = (token: string, from = "127.0.0.1") =>
  plane.ask({ path: "/v1/session", token, from });
const code = (answer: { json: unknown }) => (answer.json as { code: string }).code;

test("a token is shown once, kept as a hash, and says whose it is", async () => {
  const made = (await make({ name: "laptop" })).json as MadeToken;
  expect(made.token).toMatch(/^aim_pat_[0-9a-z]{26}_[0-9a-f]{64}_[0-9a-f]{8}$/);
  expect((await whoIs(made.token)).json).toMatchObject({ kind: "token", id: ada.id, name: "ada" });
  const secret = made.token.split("_")[3] ?? "";
  const listed = await plane.ask({ path: "/v1/tokens", token: made.token });
  expect(listed.text).not.toContain(secret);
  const kept = readdirSync(plane.stateDir, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => readFileSync(join(plane.stateDir, name), "latin1"))
    .join("");
  expect(kept).toContain(made.about.token_id);
  expect(kept).not.toContain(secret);
  expect(kept).not.toContain(ada.password);
  expect(kept).not.toContain(adminCookie.split("=")[1]);
});

test("a token may no more than its maker, and never more than they do now", async () => {
  const bob = await plane.join("bob", [grant("operator")]);
  const cookie = await session(bob);
  const wish = (roles: object[]) =>
    plane.ask({ path: "/v1/tokens", body: { name: "x", roles }, ...asPage(cookie) });
  for (const roles of [
    [grant("approver")],
    [grant("operator", "beta")],
    [grant("operator", null)],
    [grant("platform-admin", null)],
  ]) {
    expect(code(await wish(roles))).toBe("roles_exceed");
  }
  const narrow = [{ ...grant("operator"), job_types: ["ansible.check_mode.run"] }];
  const { token } = (await wish(narrow)).json as MadeToken;
  expect((await whoIs(token)).json).toMatchObject({ roles: narrow });
  const change = { path: `/v1/users/${bob.id}`, body: { roles: [grant("viewer")] } };
  await plane.askLocally(change);
  // What is left of the token has nothing at all.
  expect(await whoIs(token)).toMatchObject({ status: 403 });
  await plane.askLocally({ ...change, body: { roles: [grant("operator")] } });
  expect(await whoIs(token)).toMatchObject({ status: 200 });
  await plane.askLocally({ ...change, body: { disabled: true } });
  expect(await whoIs(token)).toMatchObject({ status: 401 });
});

test("a token ends when revoked, and only its owner and an administrator can revoke it", async () => {
  const made = (await make({ name: "gone" })).json as MadeToken;
  const path = `/v1/tokens/${made.about.token_id}/revoke`;
  const other = await plane.join("cy", [grant("viewer")]);
  const missing = `/v1/tokens/pat_${"0".repeat(26)}/revoke`;
  const [foreign, none] = await Promise.all(
    [path, missing].map((at) => plane.ask({ path: at, method: "POST", token: other.token })),
  );
  expect([foreign?.status, foreign?.text]).toEqual([404, none?.text]);
  expect(await whoIs(made.token)).toMatchObject({ status: 200 });
  const page = { body: {}, ...asPage(adminCookie) };
  expect(await plane.ask({ path, ...page })).toMatchObject({ status: 200 });
  expect(await whoIs(made.token)).toMatchObject({ status: 401 });
});

test("logout with a token revokes it", async () => {
  const { token } = (await make({ name: "short" })).json as MadeToken;
  expect(await plane.ask({ path: "/v1/logout", method: "POST", token })).toMatchObject({
    status: 200,
  });
  expect(await whoIs(token)).toMatchObject({ status: 401 });
});

test("a token makes no token, and no token lives longer than ninety days", async () => {
  const more = { path: "/v1/tokens", body: { name: "more" }, token: ada.token };
  expect(await plane.ask(more)).toMatchObject({ status: 403 });
  expect(await make({ name: "x", ttl_s: 90 * 86_400 })).toMatchObject({ status: 201 });
  expect(await make({ name: "x", ttl_s: 90 * 86_400 + 1 })).toMatchObject({ status: 400 });
});

test("a service is nobody's: administrators make it, and it stays when they go", async () => {
  const wish = { name: "nightly", service: "ci", roles: [grant("operator")] };
  expect(code(await make(wish))).toBe("not_permitted");
  const token = await makeService(plane, wish);
  expect((await whoIs(token)).json).toMatchObject({
    kind: "service",
    id: "service:ci",
    roles: [grant("operator")],
  });
  const none = await plane.askLocally({ path: "/v1/tokens", body: { name: "x", service: "ci" } });
  expect(none).toMatchObject({ status: 400 });
  const listed = (await plane.askLocally({ path: "/v1/tokens" })).json as TokenView[];
  expect(listed.some(({ service }) => service === "ci")).toBe(true);
});

test("a token that is no token, damaged or another's kind is refused, and after ten the address is", async () => {
  const bad = [
    "x",
    `${ada.token.slice(0, -1)}0`,
    ada.token.replace("aim_pat_", "aim_rnr_"),
    ada.token.toUpperCase(),
  ];
  const from = "127.0.0.7";
  for (const token of bad) expect(await whoIs(token, from)).toMatchObject({ status: 401 });
  for (let tries = 0; tries < 6; tries += 1) await whoIs("x", from);
  expect(await whoIs(ada.token, from)).toMatchObject({ status: 429 });
  expect(await whoIs(ada.token)).toMatchObject({ status: 200 });
});
