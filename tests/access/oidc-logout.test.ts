// The provider is down at first, and tells of logouts later.
import { generateKeyPairSync } from "node:crypto";
import { decodeJwt, SignJWT, UnsecuredJWT, type JWTPayload } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pathOf, type MadeToken } from "@aim/contract";
import type { Browser } from "../harness/browser.ts";
import { startSsoPlane, type SsoPlane } from "../harness/sso-plane.ts";
import { storedRows } from "../harness/stored.ts";
import { asPage, grant, type TeamAnswer } from "../harness/team-plane.ts";
import { makeWaitingJob } from "../harness/waiting-job.ts";

let sso: SsoPlane;
beforeAll(async () => {
  sso = await startSsoPlane({ backchannelLogout: true, providerStarted: false });
});
afterAll(() => sso[Symbol.asyncDispose]());

const login = async (sub: string): Promise<Browser> => {
  const { browser, page } = await sso.login({ sub, preferred_username: sub, groups: ["ops"] });
  expect(page.status).toBe(200);
  return browser;
};
/** The ID token that the provider made last. */
const lastIdToken = () => sso.provider.secrets().findLast((one) => one.includes(".")) ?? "";
const lastSid = () => String(decodeJwt(lastIdToken())["sid"]);
const cookieOf = (browser: Browser) => `aim=${browser.cookie(sso.plane.url, "aim")}`;

/** How often an address may be wrong is counted: each try comes from one of its own. */
let tries = 1;
function tell(logout_token: string, from = `127.0.1.${(tries += 1)}`): Promise<TeamAnswer> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams({ logout_token }).toString();
  return sso.plane.ask({ path: "/v1/sso/logout", body, headers, from });
}

test("while the provider is down the plane serves its own users; once it is up the others come in", async () => {
  const bob = await sso.plane.join("bob", [grant("viewer")]);
  const { page } = await sso.login(null);
  expect(page).toMatchObject({ status: 503, code: "sso_unavailable" });
  expect(sso.plane.logText()).toContain('"reason":"ECONNREFUSED"');
  const body = { name: bob.name, password: bob.password };
  expect(await sso.plane.ask({ path: "/v1/login", body })).toMatchObject({ status: 200 });
  await sso.provider.start();
  expect(await sso.whoIs(await login("early"))).toMatchObject({ name: "early" });
});

test("a session lives twelve hours where logouts are told", async () => {
  await login("long");
  const lives =
    "SELECT absolute_expires_ms - s.created_ms AS life FROM sessions s JOIN users u ON u.id = s.user_id";
  const rows = storedRows(sso.plane.stateDir, `${lives} WHERE u.name = 'long'`);
  expect(rows).toEqual([{ life: 43_200_000 }]);
});

test("a logout at the provider ends session, token and open streams at once, and nobody else's", async () => {
  const { jobId } = await makeWaitingJob(sso.plane.client);
  const other = await login("cy");
  const watcher = { sub: "di", preferred_username: "di", groups: ["watchers"] };
  const { browser } = await sso.login(watcher);
  const cookie = cookieOf(browser);
  const path = pathOf("journalStream", { job_id: jobId });
  const stream = await fetch(`${sso.plane.url}${path}`, { headers: { cookie } });
  expect(stream.status).toBe(200);
  const made = await sso.plane.ask({ path: "/v1/tokens", body: { name: "x" }, ...asPage(cookie) });
  const { token } = made.json as MadeToken;
  expect(await sso.plane.ask({ path: "/v1/jobs", token })).toMatchObject({ status: 200 });
  await sso.provider.tellLogout({ sub: "di", sid: lastSid() });
  expect(await sso.whoIs(browser)).toBeNull();
  expect(await sso.plane.ask({ path: "/v1/jobs", token })).toMatchObject({ status: 401 });
  // Resolves only once the plane has ended the stream.
  await stream.text();
  expect(await sso.whoIs(other)).toMatchObject({ name: "cy" });
});

test("a logout that names only the session, or only the person, is one too", async () => {
  for (const about of ["sid", "sub"] as const) {
    const browser = await login("either");
    const named = about === "sid" ? { sid: lastSid() } : { sub: "either" };
    const answer = await tell(await sso.provider.sign(sso.provider.logoutClaims(named)));
    expect(answer).toMatchObject({
      status: 200,
      text: "",
      headers: { "cache-control": "no-store" },
    });
    expect(await sso.whoIs(browser)).toBeNull();
  }
});

test("whoever is not known here has nothing to end, and that is no fault", async () => {
  const token = await sso.provider.sign(sso.provider.logoutClaims({ sub: "unknown" }));
  expect(await tell(token)).toMatchObject({ status: 200 });
});

test("a logout token counts once", async () => {
  const token = await sso.provider.sign(sso.provider.logoutClaims({ sub: "once" }));
  await login("once");
  expect(await tell(token)).toMatchObject({ status: 200 });
  const browser = await login("once");
  expect(await tell(token)).toMatchObject({ status: 400, json: { code: "logout_refused" } });
  expect(await sso.whoIs(browser)).toMatchObject({ name: "once" });
});

const { privateKey: foreignKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const seconds = () => Math.floor(Date.now() / 1000);
const asProvider = (change: (claims: JWTPayload) => JWTPayload) => (claims: JWTPayload) =>
  sso.provider.sign(change(claims));

test.for<readonly [string, (claims: JWTPayload) => Promise<string>]>([
  [
    "signed with another key",
    (claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(foreignKey),
  ],
  [
    "signed with the client's secret",
    (claims) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256" })
        .sign(new TextEncoder().encode("a secret & of/the client:1")),
  ],
  ["that nobody signed", async (claims) => new UnsecuredJWT(claims).encode()],
  ["of another issuer", asProvider((claims) => ({ ...claims, iss: "https://evil.example" }))],
  ["for another client", asProvider((claims) => ({ ...claims, aud: "other" }))],
  ["without the event", asProvider((claims) => ({ ...claims, events: { "urn:other": {} } }))],
  [
    "whose event is no object",
    asProvider((claims) => ({
      ...claims,
      events: { "http://schemas.openid.net/event/backchannel-logout": true },
    })),
  ],
  ["with a nonce, as an ID token has one", asProvider((claims) => ({ ...claims, nonce: "x" }))],
  ["that is over", asProvider((claims) => ({ ...claims, exp: seconds() - 61 }))],
  ["that was made too long ago", asProvider((claims) => ({ ...claims, iat: seconds() - 361 }))],
  ["without an end", asProvider(({ exp: _, ...claims }) => claims)],
  ["without a time", asProvider(({ iat: _, ...claims }) => claims)],
  ["without an id", asProvider(({ jti: _, ...claims }) => claims)],
  ["about nobody", asProvider(({ sub: _, ...claims }) => claims)],
  ["of another kind", (claims) => sso.provider.sign(claims, { typ: "at+jwt" })],
  ["that is no token", async () => "nonsense"],
])("a logout token %s ends nothing", async ([, make]) => {
  const browser = await login("stays");
  const answer = await tell(await make(sso.provider.logoutClaims({ sub: "stays" })));
  expect(answer).toMatchObject({ status: 400, json: { code: "logout_refused" } });
  expect(answer.headers["cache-control"]).toBe("no-store");
  expect(await sso.whoIs(browser)).toMatchObject({ name: "stays" });
});

test("an ID token is no logout token", async () => {
  const browser = await login("stays");
  expect(await tell(lastIdToken())).toMatchObject({ status: 400 });
  expect(await sso.whoIs(browser)).toMatchObject({ name: "stays" });
});

test("only a form with one token is heard there, and no form anywhere else", async () => {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const ask = (path: string, body: string, type = headers["content-type"]) =>
    sso.plane.ask({ path, body, headers: { "content-type": type }, from: "127.0.1.200" });
  const good = await sso.provider.sign(sso.provider.logoutClaims({ sub: "unknown" }));
  const json = JSON.stringify({ logout_token: good });
  for (const answer of [
    await ask("/v1/sso/logout", json, "application/json"),
    await ask("/v1/sso/logout", `logout_token=${good}&logout_token=${good}`),
    await ask("/v1/sso/logout", ""),
    await ask("/v1/login", "name=ada&password=x"),
    await ask("/v1/sso/token", "code=x"),
  ]) {
    expect(answer.status).toBe(400);
  }
  const large = await ask("/v1/sso/logout", `logout_token=${"x".repeat(64 * 1024)}`);
  expect(large).toMatchObject({ status: 413 });
  expect(await ask("/v1/sso/logout", `logout_token=${good}`)).toMatchObject({ status: 200 });
});

test("an address that brings ten bad ones in a minute is not heard for a while", async () => {
  const statuses = [];
  for (let bad = 0; bad < 11; bad += 1)
    statuses.push((await tell("nonsense", "127.0.1.250")).status);
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 400), 429]);
});
