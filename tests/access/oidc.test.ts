import { afterAll, beforeAll, expect, test } from "vitest";
import type { AuditRow, UserView } from "@aim/contract";
import { openBrowser } from "../harness/browser.ts";
import type { Person } from "../harness/identity-provider.ts";
import { startSsoPlane, type SsoPlane } from "../harness/sso-plane.ts";
import { storedRows } from "../harness/stored.ts";
import { asPage, grant } from "../harness/team-plane.ts";

let sso: SsoPlane;
let url: string;
beforeAll(async () => {
  sso = await startSsoPlane();
  ({ url } = sso.plane);
});
afterAll(() => sso[Symbol.asyncDispose]());

const OPERATOR = grant("operator");
const NARROW = { ...grant("viewer"), job_types: ["ansible.playbook.run"] };
const person = (sub: string, groups: unknown, more: Partial<Person> = {}): Person => ({
  sub,
  preferred_username: sub,
  groups,
  ...more,
});

async function users(): Promise<UserView[]> {
  return (await sso.plane.askLocally({ path: "/v1/users" })).json as UserView[];
}

const named = async (name: string) => (await users()).find((user) => user.name === name);

/** What the audit tells of a user, oldest first: outcome, and the roles where they are told. */
async function told(id: string | undefined): Promise<unknown[]> {
  const rows = (await sso.plane.askLocally({ path: "/v1/audit" })).json as AuditRow[];
  return rows
    .filter(({ detail, what }) => what.user_id === id && detail.route === "ssoCallback")
    .map(({ detail, outcome }) => detail.roles?.map(({ role }) => role) ?? detail.code ?? outcome);
}

test("somebody comes in with the roles of their groups, each once, and is told of once", async () => {
  const groups = ["ops", "nobody knows", "ops"];
  const { browser, page } = await sso.login(
    person("first", groups, { preferred_username: "Ada L" }),
  );
  expect(page).toMatchObject({ status: 200, code: "" });
  expect(await sso.whoIs(browser)).toMatchObject({
    kind: "user",
    name: "ada.l",
    roles: [OPERATOR, NARROW],
  });
  expect(browser.attributes(url, "aim")).toBe("HttpOnly; SameSite=Strict; Path=/");
  expect(browser.cookie(url, "aim-login")).toBeUndefined();
  const ada = await named("ada.l");
  expect(ada).toMatchObject({ issuer: sso.provider.issuer, has_password: false });
  expect(await told(ada?.user_id)).toEqual([["operator", "viewer"]]);
});

test("the browser is sent with PKCE, a state and a nonce of its own each time", async () => {
  const sent = [];
  for (let logins = 0; logins < 2; logins += 1) {
    const browser = openBrowser();
    const { trail } = await sso.loginUntilBack(person("pkce", ["ops"]), browser);
    sent.push(new URL(trail[1] ?? "").searchParams);
    expect(browser.attributes(url, "aim-login")).toBe(
      "Max-Age=600; HttpOnly; SameSite=Lax; Path=/",
    );
  }
  for (const query of sent) {
    expect(Object.fromEntries(query)).toMatchObject({
      client_id: "aim",
      code_challenge_method: "S256",
      redirect_uri: `${url}/v1/sso/callback`,
      response_type: "code",
      scope: "openid profile groups",
    });
  }
  for (const name of ["state", "nonce", "code_challenge"]) {
    expect(new Set(sent.map((query) => query.get(name))).size).toBe(2);
    for (const query of sent) expect(query.get(name)).toMatch(/^[\w-]{43}$/);
  }
});

test("the same groups change nothing; other groups replace the roles and end other sessions", async () => {
  const { browser: before } = await sso.login(person("eve", ["ops"]));
  await sso.login(person("eve", ["ops"]));
  expect(await sso.whoIs(before)).toMatchObject({ roles: [OPERATOR, NARROW] });
  const { browser: after } = await sso.login(person("eve", "watchers"));
  expect(await sso.whoIs(before)).toBeNull();
  expect(await sso.whoIs(after)).toMatchObject({ name: "eve", roles: [grant("viewer")] });
  const eve = await named("eve");
  expect(await told(eve?.user_id)).toEqual([["operator", "viewer"], "allowed", ["viewer"]]);
});

test("groups that the ID token leaves out are read from the user info", async () => {
  sso.provider.tamper(({ groups: _, ...claims }) => claims);
  const { browser } = await sso.login(person("info", ["watchers"]));
  sso.provider.tamper(() => null);
  expect(await sso.whoIs(browser)).toMatchObject({ roles: [grant("viewer")] });
});

test.for([
  ["none that maps", ["others"]],
  ["none", undefined],
  ["no list", { ops: true }],
] as const)("whoever has %s of the groups is refused and not kept", async ([what, groups]) => {
  const name = `nobody-${what.replaceAll(" ", "-")}`;
  const { browser, page } = await sso.login(person(name, groups));
  expect(page).toMatchObject({ status: 403, code: "sso_no_role" });
  expect(page.text).toContain("None of your groups has a role here.");
  expect(await sso.whoIs(browser)).toBeNull();
  expect(await named(name)).toBeUndefined();
});

test("whoever loses the last group loses roles, sessions and what tokens could do", async () => {
  const { browser } = await sso.login(person("leaver", ["ops"]));
  const cookie = `aim=${browser.cookie(url, "aim")}`;
  const made = await sso.plane.ask({ path: "/v1/tokens", body: { name: "x" }, ...asPage(cookie) });
  const { token } = made.json as { token: string };
  expect(await sso.plane.ask({ path: "/v1/jobs", token })).toMatchObject({ status: 200 });
  const { page } = await sso.login(person("leaver", []));
  expect(page).toMatchObject({ status: 403, code: "sso_no_role" });
  expect(await sso.whoIs(browser)).toBeNull();
  expect(await sso.plane.ask({ path: "/v1/jobs", token })).toMatchObject({ status: 403 });
  const leaver = await named("leaver");
  expect(leaver).toMatchObject({ roles: [] });
  await sso.login(person("leaver", []));
  const rows = await told(leaver?.user_id);
  expect(rows.filter((row) => Array.isArray(row))).toEqual([["operator", "viewer"], []]);
});

test("a disabled user stays out until enabled again", async () => {
  const { browser } = await sso.login(person("gone", ["ops"]));
  const gone = await named("gone");
  const set = (disabled: boolean) =>
    sso.plane.askLocally({ path: `/v1/users/${gone?.user_id}`, body: { disabled } });
  await set(true);
  expect(await sso.whoIs(browser)).toBeNull();
  expect((await sso.login(person("gone", ["ops"]))).page).toMatchObject({
    status: 401,
    code: "login_refused",
  });
  await set(false);
  expect((await sso.login(person("gone", ["ops"]))).page).toMatchObject({ status: 200 });
});

test("the name of a local user is not taken over, whatever the provider calls somebody", async () => {
  const bob = await sso.plane.join("bob", [grant("platform-admin", null)]);
  const { browser } = await sso.login(
    person("sub-of-bob", ["watchers"], { preferred_username: "BOB" }),
  );
  const who = await sso.whoIs(browser);
  expect(who?.name).toMatch(/^oidc-[0-9a-f]{10}$/);
  expect(who?.id).not.toBe(bob.id);
  expect(who?.roles).toEqual([grant("viewer")]);
  expect(await named("bob")).toMatchObject({ issuer: null, has_password: true });
  const { browser: again } = await sso.login(person("sub-of-bob", ["watchers"]));
  expect(await sso.whoIs(again)).toEqual(who);
});

test("one address or name with another subject is another person", async () => {
  const same = { preferred_username: "twin", email: "twin@example.test" };
  const [one, two] = [
    await sso.login(person("twin-1", ["ops"], same)),
    await sso.login(person("twin-2", ["watchers"], same)),
  ];
  const [first, second] = [await sso.whoIs(one.browser), await sso.whoIs(two.browser)];
  expect([first?.name, second?.roles]).toEqual(["twin", [grant("viewer")]]);
  expect(second?.name).toMatch(/^oidc-/);
  expect(second?.id).not.toBe(first?.id);
});

test("a login ends the session that the browser had, which its cookie does not tell on the way back", async () => {
  const { browser } = await sso.login(person("fix", ["ops"]));
  const old = browser.cookie(url, "aim") ?? "";
  await sso.login(person("fix", ["ops"]), browser);
  expect(browser.cookie(url, "aim")).not.toBe(old);
  expect(await sso.plane.ask({ path: "/v1/session", cookie: `aim=${old}` })).toMatchObject({
    status: 401,
  });
  expect(await sso.whoIs(browser)).not.toBeNull();
});

test("an id that somebody planted is neither a session nor a login under way", async () => {
  const browser = openBrowser();
  const planted = "A".repeat(43);
  for (const name of ["aim", "aim-login"]) browser.setCookie(url, name, planted);
  await sso.loginUntilBack(person("planted", ["ops"]), browser);
  expect(browser.cookie(url, "aim-login")).not.toBe(planted);
  await sso.login(person("planted", ["ops"]), browser);
  expect(browser.cookie(url, "aim")).not.toBe(planted);
});

test("whoever the provider refuses is told so", async () => {
  expect((await sso.login(null)).page).toMatchObject({ status: 401, code: "sso_denied" });
});

test("without a browser a refusal is a problem like any other", async () => {
  const answer = await sso.plane.ask({ path: "/v1/sso/callback?code=x&state=y" });
  expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
  expect(answer.json).toMatchObject({ status: 401, code: "sso_refused" });
});

test("the roles of somebody from elsewhere are not an administrator's to give", async () => {
  await sso.login(person("cy", ["ops"]));
  const cy = await named("cy");
  const path = `/v1/users/${cy?.user_id}`;
  expect(await sso.plane.askLocally({ path, body: { roles: [] } })).toMatchObject({
    status: 409,
    json: { code: "roles_elsewhere" },
  });
  expect(
    await sso.plane.askLocally({ path: `${path}/password-reset`, method: "POST" }),
  ).toMatchObject({ status: 404 });
  expect(await named("cy")).toEqual(cy);
});

test("a session lives fifteen minutes, and a token of its user eight hours at most", async () => {
  const { browser } = await sso.login(person("short", ["ops"]));
  const short = await named("short");
  const [row] = storedRows(
    sso.plane.stateDir,
    `SELECT absolute_expires_ms - created_ms AS life FROM sessions WHERE user_id = '${short?.user_id}'`,
  );
  expect(row).toEqual({ life: 900_000 });
  const make = (ttl_s: number) => {
    const cookie = `aim=${browser.cookie(url, "aim")}`;
    return sso.plane.ask({ path: "/v1/tokens", body: { name: "x", ttl_s }, ...asPage(cookie) });
  };
  expect(await make(28_800)).toMatchObject({ status: 201 });
  expect(await make(28_801)).toMatchObject({ status: 400, json: { at: "/ttl_s" } });
});

test("a logout is heard only from a provider that was to tell of them", async () => {
  const logout_token = await sso.provider.sign(sso.provider.logoutClaims({ sub: "first" }));
  const body = new URLSearchParams({ logout_token }).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = await sso.plane.ask({ path: "/v1/sso/logout", body, headers });
  expect(answer).toMatchObject({ status: 409, json: { code: "sso_off" } });
});

test("a begin that names half a program is refused, and an address that begins too often waits", async () => {
  const from = "127.0.0.77";
  const begin = (query: string) => sso.plane.ask({ path: `/v1/sso${query}`, from });
  const challenge = "c".repeat(43);
  for (const query of [
    "?port=40000",
    `?port=80&challenge=${challenge}`,
    `?port=65536&challenge=${challenge}`,
    "?x=1",
  ]) {
    expect(await begin(query)).toMatchObject({ status: 400 });
  }
  const statuses = [];
  for (let tries = 0; tries < 121; tries += 1) statuses.push((await begin("")).status);
  expect(statuses.slice(0, 120).every((status) => status === 302)).toBe(true);
  expect(statuses[120]).toBe(429);
  expect(await sso.plane.ask({ path: "/v1/sso" })).toMatchObject({ status: 302 });
});
