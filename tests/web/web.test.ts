import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { OPERATION_BYTES_MAX, ROUTES, type Route } from "@aim/contract";
import { until } from "../harness/plane.ts";
import {
  asPage,
  cookieOf,
  grant,
  startTeamPlane,
  type Member,
  type TeamPlane,
} from "../harness/team-plane.ts";

let plane: TeamPlane;
let ada: Member;
let cookie: string;
beforeAll(async () => {
  plane = await startTeamPlane();
  ada = await plane.join("ada", [grant("platform-admin", null)]);
  const body = { name: ada.name, password: ada.password };
  cookie = cookieOf(await plane.ask({ path: "/v1/login", body }));
});
afterAll(() => plane[Symbol.asyncDispose]());

const CHANGING = Object.values<Route>(ROUTES).filter(
  ({ face, method }) => face === "client" && method !== "GET",
);
const pathIn = ({ path }: Route) => path.replaceAll(/:[a-z_0-9]+/g, "x");
const code = (answer: { text: string }) => /"code":"([a-z_]+)"/.exec(answer.text)?.[1];
const own = () => ({
  ...asPage(cookie).headers,
  origin: plane.url,
  "sec-fetch-site": "same-origin",
});

test.for([
  ["without our own header", { "aim-request": "" }],
  ["as a form", { "content-type": "application/x-www-form-urlencoded" }],
  ["as a form with a file", { "content-type": "multipart/form-data; boundary=x" }],
  ["as plain text", { "content-type": "text/plain" }],
  ["from another origin", { origin: "https://evil.example" }],
  ["from another port", { origin: "http://127.0.0.1:1" }],
  ["from nowhere", { origin: "null" }],
  ["across sites", { "sec-fetch-site": "cross-site" }],
  ["from a neighbour", { "sec-fetch-site": "same-site" }],
] as const)("no route is changed with a cookie %s", async ([, headers]) => {
  for (const route of CHANGING.filter(({ action }) => action !== null)) {
    const sent = { path: pathIn(route), method: route.method, body: "{}", cookie };
    const answer = await plane.ask({ ...sent, headers: { ...own(), ...headers } });
    expect([route.path, answer.status, code(answer)]).toEqual([route.path, 403, "cross_site"]);
  }
  expect(await plane.ask({ path: "/v1/session", cookie })).toMatchObject({ status: 200 });
});

test("our own page is let through, and so is a program without a browser", async () => {
  for (const route of CHANGING.filter(({ path }) => !/logout|password/.test(path))) {
    const sent = { path: pathIn(route), method: route.method, body: "{}" };
    const answers = await Promise.all([
      plane.ask({ ...sent, cookie, headers: own() }),
      plane.ask({ ...sent, token: ada.token }),
    ]);
    for (const answer of answers) expect(code(answer)).not.toBe("cross_site");
  }
});

test("a login from somebody else's page is none", async () => {
  const body = { name: ada.name, password: ada.password };
  for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }]) {
    const answer = await plane.ask({ path: "/v1/login", body, headers });
    expect([code(answer), cookieOf(answer)]).toEqual(["cross_site", ""]);
  }
});

test("nothing is changed by GET or HEAD, and no answer opens itself to other origins", async () => {
  for (const route of CHANGING) {
    const alsoRead = Object.values<Route>(ROUTES).some(
      ({ method, path }) => method === "GET" && path === route.path,
    );
    for (const method of ["GET", "HEAD", "OPTIONS"]) {
      const headers = { origin: "https://evil.example" };
      const answer = await plane.ask({ path: pathIn(route), method, cookie, headers });
      const cors = Object.keys(answer.headers).filter((name) => name.startsWith("access-control"));
      expect(cors).toEqual([]);
      if (!alsoRead) expect(answer.status).toBeGreaterThanOrEqual(400);
    }
  }
  expect(await plane.ask({ path: "/v1/session", cookie })).toMatchObject({ status: 200 });
});

test("every answer says what a browser may do with it", async () => {
  const { headers: found } = await plane.ask({ path: "/healthz" });
  const refused = await plane.ask({ path: "/v1/nowhere" });
  for (const headers of [found, refused.headers]) {
    expect(headers).toMatchObject({
      "content-security-policy": expect.stringMatching(
        /^default-src 'none'.*frame-ancestors 'none'/,
      ),
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
    // Without TLS a browser must not be told to insist on it.
    expect(headers["strict-transport-security"]).toBeUndefined();
  }
});

test("over TLS the cookie is bound to this host and browsers insist on TLS", async () => {
  await using secure = await startTeamPlane({ tls: true });
  const bob = await secure.join("bob", []);
  const body = { name: bob.name, password: bob.password };
  const { headers } = await secure.ask({ path: "/v1/login", body });
  expect(headers["set-cookie"]).toEqual([
    expect.stringMatching(/^__Host-aim=[\w-]{43}; Secure; HttpOnly; SameSite=Strict; Path=\/$/),
  ]);
  expect(headers["strict-transport-security"]).toMatch(/^max-age=31536000/);
});

const CANARY = "canary7f3a9c";

test("a credential in an address is refused, and none of it nor of other places is ever logged", async () => {
  const names = ["token", "access_token", "password", "authorization", "session", "key", "api_key"];
  for (const name of [...names, "client_secret", "ID_TOKEN"]) {
    const answer = await plane.ask({ path: `/v1/jobs?${name}=${CANARY}`, token: ada.token });
    expect([name, answer.status, code(answer)]).toEqual([name, 400, "credential_in_url"]);
    expect(answer.text).not.toContain(CANARY);
  }
  expect(code(await plane.ask({ path: `/v1/jobs?x=${ada.token}` }))).toBe("credential_in_url");
  const placed = { referer: `http://x/?token=${CANARY}`, "user-agent": CANARY };
  await plane.ask({ path: `/v1/${CANARY}`, headers: placed });
  await plane.ask({ path: "/v1/jobs", token: CANARY });
  await plane.ask({ path: "/v1/login", body: { name: CANARY, password: CANARY } });
  await plane.ask({ path: "/v1/login", body: `{"password":"${CANARY}"` });
  expect(plane.logText()).not.toContain(CANARY);
  expect(plane.logText()).not.toContain(ada.token);
  expect(plane.printed()).not.toContain(CANARY);
});

test("a cookie that comes twice counts as none", async () => {
  const twice = `${cookie}; aim=${"A".repeat(43)}`;
  expect(await plane.ask({ path: "/v1/session", cookie: twice })).toMatchObject({ status: 401 });
});

/** Sends bytes as they are; answers what came back until the plane ended the connection. */
async function raw(pieces: readonly string[], onOpen?: (socket: Socket) => void): Promise<string> {
  const socket = connect(plane.port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  for (const piece of pieces) socket.write(piece);
  onOpen?.(socket);
  await closed;
  return text;
}

test("headers beyond 16 KiB and bodies beyond their limit are refused", async () => {
  const large = `x: ${"a".repeat(17 * 1024)}\r\n`;
  expect(await raw([`GET /healthz HTTP/1.1\r\nhost: x\r\n${large}\r\n`])).toMatch(
    /^HTTP\/1\.1 431 /,
  );
  const body = JSON.stringify({ name: "x".repeat(OPERATION_BYTES_MAX) });
  const answer = await plane.ask({ path: "/v1/tokens", body, token: ada.token });
  expect([answer.status, code(answer)]).toEqual([413, "request_too_large"]);
  expect(await raw(["nonsense\r\n\r\n"])).toMatch(/^HTTP\/1\.1 400 /);
});

test("whoever sends headers drop by drop is sent away, and others are served meanwhile", async () => {
  const begun = performance.now();
  const drops = Array.from({ length: 50 }, () => {
    let timer: NodeJS.Timeout;
    return raw(["GET /healthz HTTP/1.1\r\n"], (socket) => {
      timer = setInterval(() => socket.write("x: y\r\n"), 500);
      socket.once("close", () => clearInterval(timer));
    });
  });
  expect(await plane.ask({ path: "/healthz" })).toMatchObject({ status: 200 });
  for (const text of await Promise.all(drops)) expect(text).toMatch(/^HTTP\/1\.1 408 |^$/);
  expect(performance.now() - begun).toBeGreaterThan(5_000);
  await until(5_000, async () => (await plane.ask({ path: "/healthz" })).status === 200);
});

const HOSTILE = [
  "\u001b]52;c;aGk=\u0007",
  "\u001b[2J\u001b[31mred",
  "line\r\nsecond",
  "\u202egnp.exe",
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "a\u0000b",
];

test.for(HOSTILE)("%j gets into no name, no log and no answer as it is", async (text) => {
  const tries = [
    { path: "/v1/users", body: { name: text, roles: [] } },
    { path: "/v1/tokens", body: { name: text, service: "ci", roles: [] } },
    { path: "/v1/tokens", body: { name: "x", service: text, roles: [] } },
    {
      path: "/v1/users",
      body: { name: "x", roles: [{ role: text, customer: text, job_types: null }] },
    },
    { path: "/v1/login", body: { name: text, password: text }, from: "127.0.0.9" },
    { path: `/v1/users/${encodeURIComponent(text)}`, body: { disabled: true } },
    { path: `/v1/revisions/${encodeURIComponent(text)}` },
    { path: `/v1/jobs?customer=${encodeURIComponent(text)}&state=${encodeURIComponent(text)}` },
  ];
  for (const call of tries) {
    const answer = await plane.ask({ ...call, token: ada.token });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).not.toContain(text);
  }
  expect(plane.logText()).not.toContain(text);
});
