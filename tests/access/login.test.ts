import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { LoggedIn, UserCode } from "@aim/contract";
import { asPage, cookieOf, grant, startTeamPlane, type TeamPlane } from "../harness/team-plane.ts";

const PASSWORD = "correct horse battery";

let plane: TeamPlane;
beforeAll(async () => {
  plane = await startTeamPlane();
});
afterAll(() => plane[Symbol.asyncDispose]());

// How often an address may try is counted: each test has one of its own.
let tests = 1;
let from = "";
beforeEach(() => {
  tests += 1;
  from = `127.0.0.${tests}`;
});

const login = (name: string, password: string, cookie?: string) =>
  plane.ask({
    from,
    path: "/v1/login",
    body: { name, password },
    ...(cookie === undefined ? {} : { cookie }),
  });
const whoIs = (cookie: string) => plane.ask({ path: "/v1/session", cookie });
const code = (answer: { json: unknown }) => (answer.json as { code: string }).code;

test("the first administrator comes in by the code that was printed, once", async () => {
  const printed = /first administrator: aimctl login --setup ([0-9a-f]{40})/.exec(plane.printed());
  const body = { code: printed?.[1], name: "root", password: PASSWORD };
  expect(
    code(await plane.ask({ path: "/v1/setup", body: { ...body, password: "password" } })),
  ).toBe("password_refused");
  const entered = await plane.ask({ path: "/v1/setup", body });
  expect(entered.json).toMatchObject({
    token: null,
    principal: { kind: "user", name: "root", roles: [{ role: "platform-admin", customer: null }] },
  });
  expect(await whoIs(cookieOf(entered))).toMatchObject({ status: 200 });
  expect(code(await plane.ask({ path: "/v1/setup", body }))).toBe("setup_refused");
});

test("without TLS the cookie is for this host, this site and no script", async () => {
  await plane.join("bare", []);
  const { headers } = await login("bare", "bare has a long password");
  expect(headers["set-cookie"]).toEqual([
    expect.stringMatching(/^aim=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/),
  ]);
});

test("a wrong password, an unknown name and a disabled user are answered the same", async () => {
  const gone = await plane.join("gone", [grant("viewer")]);
  await plane.askLocally({ path: `/v1/users/${gone.id}`, body: { disabled: true } });
  const answers = await Promise.all([
    login("gone", gone.password),
    login("gone", "something else"),
    login("nobody", "something else"),
    login("unknown", gone.password),
  ]);
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]).toMatchObject({ status: 401, json: { code: "login_refused" } });
});

test("an id that somebody planted is not taken over, and the one before a login ends", async () => {
  const ada = await plane.join("ada", [grant("viewer")]);
  const planted = `aim=${"A".repeat(43)}`;
  const first = cookieOf(await login("ada", ada.password, planted));
  expect(first).not.toBe(planted);
  expect(await whoIs(planted)).toMatchObject({ status: 401 });
  const second = cookieOf(await login("ada", ada.password, first));
  expect(second).not.toBe(first);
  expect(await whoIs(first)).toMatchObject({ status: 401 });
  expect(await whoIs(second)).toMatchObject({ status: 200 });
});

test("logout ends the session on the plane, not only in the browser", async () => {
  const bob = await plane.join("bob", [grant("viewer")]);
  const cookie = cookieOf(await login("bob", bob.password));
  const left = await plane.ask({ path: "/v1/logout", method: "POST", body: {}, ...asPage(cookie) });
  expect(left.headers["set-cookie"]?.[0]).toMatch(/^aim=; Max-Age=0/);
  expect(await whoIs(cookie)).toMatchObject({ status: 401 });
});

test.for([
  ["disabled", { disabled: true }],
  ["given other roles", { roles: [grant("operator")] }],
] as const)("whoever is %s is out at once", async ([, change], { task }) => {
  const user = await plane.join(`user${task.id.replaceAll(/\D/g, "")}`, [grant("viewer")]);
  const cookie = cookieOf(await login(user.name, user.password));
  expect(await whoIs(cookie)).toMatchObject({ status: 200 });
  await plane.askLocally({ path: `/v1/users/${user.id}`, body: change });
  expect(await whoIs(cookie)).toMatchObject({ status: 401 });
});

test("a changed password ends every session and is the only one that is good", async () => {
  const cy = await plane.join("cy", [grant("viewer")]);
  const [one, two] = [await login("cy", cy.password), await login("cy", cy.password)].map(cookieOf);
  const change = (old_password: string, new_password: string) =>
    plane.ask({
      path: "/v1/session/password",
      body: { old_password, new_password },
      ...asPage(one ?? ""),
    });
  expect(code(await change("not it at all", PASSWORD))).toBe("login_refused");
  expect(code(await change(cy.password, "12345678"))).toBe("password_refused");
  expect(await change(cy.password, PASSWORD)).toMatchObject({ status: 200 });
  expect([await whoIs(one ?? ""), await whoIs(two ?? "")]).toMatchObject([
    { status: 401 },
    { status: 401 },
  ]);
  expect(code(await login("cy", cy.password))).toBe("login_refused");
  expect(await login("cy", PASSWORD)).toMatchObject({ status: 200 });
});

test("an administrator resets a password without ever knowing one", async () => {
  const di = await plane.join("di", [grant("viewer")]);
  const path = `/v1/users/${di.id}/password-reset`;
  const reset = (await plane.askLocally({ path, method: "POST" })).json as UserCode;
  expect(reset.user.has_password).toBe(false);
  expect(code(await login("di", di.password))).toBe("login_refused");
  const body = { code: reset.code, password: PASSWORD };
  const entered = await plane.askLocally({ path: "/v1/setup", body });
  expect((entered.json as LoggedIn).principal.name).toBe("di");
});

test("after five tries in a minute an account is shut for that address, in words and for a while", async () => {
  const answers = [];
  for (let tries = 0; tries < 6; tries += 1) answers.push(await login("eve", "not it at all"));
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429]);
  expect(Number(answers[5]?.headers["retry-after"])).toBeGreaterThan(0);
});

test("an address that tries twenty accounts in a minute is sent away, and another is not", async () => {
  const answers = [];
  for (let tries = 0; tries < 21; tries += 1) answers.push(login(`someone${tries}`, "not it"));
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 429)).toHaveLength(1);
  const elsewhere = { from: "127.0.0.99", path: "/v1/login" };
  const body = { name: "someone1", password: "not it" };
  expect(await plane.ask({ ...elsewhere, body })).toMatchObject({ status: 401 });
});
