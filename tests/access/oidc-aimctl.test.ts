import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aimctl, startAimctl, type Started } from "../../clients/cli/testing/run-aimctl.ts";
import { openBrowser } from "../harness/browser.ts";
import { startSsoPlane, type SsoPlane } from "../harness/sso-plane.ts";
import { storedRows } from "../harness/stored.ts";

const ADA = { sub: "ada", preferred_username: "ada", groups: ["watchers"] };

let sso: SsoPlane;
let config: string;
beforeAll(async () => {
  sso = await startSsoPlane();
  config = join(sso.plane.stateDir, "..", "config");
  mkdirSync(config);
});
afterAll(() => sso[Symbol.asyncDispose]());

const env = () => ({ XDG_CONFIG_HOME: config });
const kept = () => readFileSync(join(config, "aim", "contexts.json"), "utf8");

async function begin(...more: string[]): Promise<{ started: Started; address: string }> {
  const started = startAimctl(["login", "--url", sso.plane.url, "--sso", ...more], { env: env() });
  let text = "";
  started.process.stderr?.on("data", (piece: string) => (text += piece));
  await started.saw("challenge=");
  return { started, address: /^ {2}(http\S+)$/m.exec(text)?.[1] ?? "" };
}

test("a login in a browser gives the command its token, and nothing else does", async () => {
  const { address, started } = await begin("--ttl", "3600");
  const browser = openBrowser();
  sso.provider.become(ADA);
  const page = await browser.go(address);
  expect(page).toMatchObject({
    status: 200,
    text: "aimctl is logging in. You can close this page.\n",
  });
  expect(browser.cookie(sso.plane.url, "aim")).toBeUndefined();
  const ended = await started.ended;
  expect(ended).toMatchObject({ exit: 0 });
  expect(ended.stdout).toMatch(/^Logged in to http:\S+ as ada until /);
  const who = await aimctl(["whoami"], { env: env() });
  expect(who.stdout).toMatch(/^ada \(token usr_\w+\)\n {2}viewer@acme\n$/);

  const back = page.trail.map((one) => new URL(one));
  const code = back.at(-1)?.searchParams.get("code") ?? "";
  const contexts = JSON.parse(kept()) as { contexts: Record<string, { token: string }> };
  const [{ token } = { token: "" }] = Object.values(contexts.contexts);
  const secrets = [code, token, ...sso.provider.secrets()];
  const rows = ["audit", "sso_codes", "sso_flows", "api_tokens", "sso_sids"].flatMap((table) =>
    storedRows(sso.plane.stateDir, `SELECT * FROM ${table}`),
  );
  const written = `${sso.plane.logText()}${JSON.stringify(rows)}${ended.stdout}${ended.stderr}`;
  expect(secrets.filter((secret) => secret === "" || written.includes(secret))).toEqual([]);
  const body = { code, verifier: "v".repeat(43), token: { name: "again" } };
  expect(await sso.plane.ask({ path: "/v1/sso/token", body })).toMatchObject({
    status: 401,
    json: { code: "sso_refused" },
  });
});

test("whoever is refused in the browser ends the command with that", async () => {
  const { address, started } = await begin();
  sso.provider.become({ ...ADA, sub: "nobody", groups: [] });
  const page = await openBrowser().go(address);
  expect(page.text).toBe("aimctl was not logged in. You can close this page.\n");
  const ended = await started.ended;
  expect(ended).toMatchObject({ exit: 77, stdout: "" });
  expect(ended.stderr).toContain("None of your groups has a role here.");
  expect(sso.plane.logText()).toContain('"code":"sso_no_role"');
});

const VERIFIER = "v".repeat(43);
const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");

test("a code is worth nothing without its verifier, and is used up by whoever tries", async () => {
  const codeOf = async () => {
    sso.provider.become(ADA);
    const start = `${sso.plane.url}/v1/sso?port=45678&challenge=${CHALLENGE}`;
    const { url } = await openBrowser().go(start, /^http:\/\/127\.0\.0\.1:45678\/\?code=/);
    return new URL(url).searchParams.get("code");
  };
  const redeem = (code: string | null, verifier: string) => {
    const body = { code, verifier, token: { name: "x" } };
    return sso.plane.ask({ path: "/v1/sso/token", body });
  };
  const refused = { status: 401, json: { code: "sso_refused" } };
  expect(await redeem("c".repeat(43), VERIFIER)).toMatchObject(refused);
  const first = await codeOf();
  expect(await redeem(first, "w".repeat(43))).toMatchObject(refused);
  expect(await redeem(first, VERIFIER)).toMatchObject(refused);
  const second = await codeOf();
  expect(await redeem(second, VERIFIER)).toMatchObject({ status: 200 });
  expect(await redeem(second, VERIFIER)).toMatchObject(refused);
});

test("the command answers its one path with its one method, and no other code brings it in", async () => {
  const { address, started } = await begin();
  const at = `http://127.0.0.1:${new URL(address).searchParams.get("port")}`;
  for (const [path, method] of [
    ["/other", "GET"],
    ["/", "POST"],
    ["/?code=short", "GET"],
    ["/?error=%1b[2J", "GET"],
  ] as const) {
    expect((await fetch(`${at}${path}`, { method })).status).toBe(404);
  }
  expect((await fetch(`${at}/?code=${"c".repeat(43)}`)).status).toBe(200);
  expect(await started.ended).toMatchObject({ exit: 77, stdout: "" });
});

test("Ctrl-C ends the wait, and words that make no sense together are refused", async () => {
  const { started } = await begin();
  started.process.kill("SIGINT");
  expect(await started.ended).toMatchObject({ stdout: "" });
  const run = (...words: string[]) =>
    aimctl(["login", "--url", sso.plane.url, "--sso", ...words], { env: env() });
  expect(await run("--name", "ada")).toMatchObject({ exit: 64 });
  expect(await run("--ttl", "28801")).toMatchObject({ exit: 64 });
});
