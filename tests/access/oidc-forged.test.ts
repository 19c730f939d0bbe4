// Answers that belong to no login here: none of them may let anybody in.
import { generateKeyPairSync } from "node:crypto";
import { SignJWT, UnsecuredJWT, type JWTPayload } from "jose";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openBrowser } from "../harness/browser.ts";
import { startSsoPlane, type SsoPlane } from "../harness/sso-plane.ts";
import { storedRows } from "../harness/stored.ts";

const ADA = { sub: "ada", preferred_username: "ada", groups: ["ops"] };
const MALLORY = { sub: "mallory", preferred_username: "mallory", groups: ["admins"] };
const REFUSED = { status: 401, code: "sso_refused" };

let sso: SsoPlane;
beforeAll(async () => {
  sso = await startSsoPlane();
});
afterAll(() => sso[Symbol.asyncDispose]());
afterEach(() => {
  sso.provider.tamper(() => null);
  sso.provider.breakDown(null);
});

function with_(address: string, name: string, value: string | null): string {
  const changed = new URL(address);
  if (value === null) changed.searchParams.delete(name);
  else changed.searchParams.set(name, value);
  return changed.href;
}

test("an answer with another state, or with none or two, is refused and uses nothing up", async () => {
  const browser = openBrowser();
  const { url: back } = await sso.loginUntilBack(ADA, browser);
  const other = await sso.loginUntilBack(ADA, openBrowser());
  const state = new URL(other.url).searchParams.get("state") ?? "";
  for (const forged of [
    with_(back, "state", state),
    with_(back, "state", "x".repeat(43)),
    with_(back, "state", null),
    `${back}&state=${state}`,
  ]) {
    expect(await browser.go(forged)).toMatchObject(REFUSED);
    expect(await sso.whoIs(browser)).toBeNull();
  }
  expect(await browser.go(back)).toMatchObject({ status: 200 });
});

test("an answer is worth nothing in a browser that did not begin the login", async () => {
  const theirs = await sso.loginUntilBack(MALLORY, openBrowser());
  const stranger = openBrowser();
  expect(await stranger.go(theirs.url)).toMatchObject(REFUSED);
  // Logged in as somebody else without noticing: what is done then would be theirs to see.
  const victim = openBrowser();
  const own = await sso.loginUntilBack(ADA, victim);
  expect(await victim.go(theirs.url)).toMatchObject(REFUSED);
  expect([await sso.whoIs(stranger), await sso.whoIs(victim)]).toEqual([null, null]);
  expect(await victim.go(own.url)).toMatchObject({ status: 200 });
  expect(await sso.whoIs(victim)).toMatchObject({ name: "ada" });
});

test("an authorization code of another login is worth nothing with one's own state", async () => {
  const theirs = await sso.loginUntilBack(MALLORY, openBrowser());
  const code = new URL(theirs.url).searchParams.get("code");
  const browser = openBrowser();
  const own = await sso.loginUntilBack(ADA, browser);
  expect(await browser.go(with_(own.url, "code", code))).toMatchObject(REFUSED);
  expect(await sso.whoIs(browser)).toBeNull();
});

test("an answer counts once, also when the cookie is brought back", async () => {
  const browser = openBrowser();
  const { url: back } = await sso.loginUntilBack(ADA, browser);
  const flow = browser.cookie(sso.plane.url, "aim-login") ?? "";
  expect(await browser.go(back)).toMatchObject({ status: 200 });
  expect(await browser.go(back)).toMatchObject(REFUSED);
  browser.setCookie(sso.plane.url, "aim-login", flow);
  expect(await browser.go(back)).toMatchObject(REFUSED);
});

test.for([
  ["another issuer", "https://evil.example"],
  ["no issuer", null],
] as const)("an answer of %s is refused", async ([, iss]) => {
  const browser = openBrowser();
  const { url: back } = await sso.loginUntilBack(ADA, browser);
  expect(await browser.go(with_(back, "iss", iss))).toMatchObject(REFUSED);
});

test("what some providers send along does no harm", async () => {
  const browser = openBrowser();
  const { url: back } = await sso.loginUntilBack(ADA, browser);
  expect(await browser.go(with_(back, "session_state", "a.b"))).toMatchObject({ status: 200 });
});

const { privateKey: foreignKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const signedByAnother = (claims: JWTPayload) =>
  new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(foreignKey);
const SECRET = new TextEncoder().encode("a secret & of/the client:1");
const signedBySecret = (claims: JWTPayload) =>
  new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(SECRET);

test.for<readonly [string, (claims: JWTPayload) => Promise<string> | JWTPayload]>([
  ["with another nonce", (claims) => ({ ...claims, nonce: "x".repeat(43) })],
  ["without a nonce", ({ nonce: _, ...claims }) => claims],
  ["of another issuer", (claims) => ({ ...claims, iss: "https://evil.example" })],
  ["for another client", (claims) => ({ ...claims, aud: "other" })],
  [
    "for two clients, given to the other",
    (claims) => ({ ...claims, aud: ["aim", "other"], azp: "other" }),
  ],
  ["that is over", (claims) => ({ ...claims, exp: Math.floor(Date.now() / 1000) - 60 })],
  ["without a subject", ({ sub: _, ...claims }) => claims],
  ["signed with another key", signedByAnother],
  ["signed with the client's secret", signedBySecret],
  ["that nobody signed", async (claims) => new UnsecuredJWT(claims).encode()],
])("an ID token %s is refused", async ([, tamper]) => {
  sso.provider.tamper(tamper);
  const { browser, page } = await sso.login(MALLORY);
  expect(page).toMatchObject(REFUSED);
  expect(await sso.whoIs(browser)).toBeNull();
  expect(storedRows(sso.plane.stateDir, "SELECT id FROM users WHERE name = 'mallory'")).toEqual([]);
});

test.for([
  ["fails", { status: 500, body: "oops" }],
  ["speaks nonsense", { status: 200, body: "<html>" }],
  ["redirects", { status: 302, body: "" }],
  ["sends too much", { status: 200, body: "x".repeat(1024 * 1024 + 1) }],
] as const)("a provider that %s lets nobody in, and the log says what it did", async ([, how]) => {
  const browser = openBrowser();
  const { url: back } = await sso.loginUntilBack(ADA, browser);
  sso.provider.breakDown(how);
  const page = await browser.go(back);
  expect(page).toMatchObject({ status: 503, code: "sso_unavailable" });
  expect(page.text).toContain("log in with a password");
  expect(sso.plane.logText()).toMatch(/"code":"sso_unavailable","reason":"[A-Za-z_]+"/);
});

test("no code, state or token of a login is in a log, a row or the audit", async () => {
  await sso.login(ADA);
  const browser = openBrowser();
  const { trail } = await sso.login(ADA, browser).then(({ page }) => page);
  const codes = trail
    .map((address) => new URL(address).searchParams.get("code"))
    .filter((code) => code !== null);
  const secrets = [...sso.provider.secrets(), ...codes, browser.cookie(sso.plane.url, "aim") ?? ""];
  expect(secrets.length).toBeGreaterThan(20);
  const tables = storedRows(
    sso.plane.stateDir,
    "SELECT name FROM sqlite_master WHERE type = 'table'",
  );
  const rows = tables.flatMap(({ name }) =>
    storedRows(sso.plane.stateDir, `SELECT * FROM ${name}`),
  );
  const kept = `${sso.plane.logText()}${sso.plane.printed()}${JSON.stringify(rows)}`;
  expect(rows.length).toBeGreaterThan(10);
  expect(secrets.filter((secret) => kept.includes(secret))).toEqual([]);
});
