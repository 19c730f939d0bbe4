// How long a login may take and what it gives may live, by a clock that the test turns. Provider and store are real.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { challengeOf } from "../../plane/auth/oidc/flow.ts";
import { createIdentityProvider } from "../../plane/auth/oidc/provider.ts";
import { hashOf } from "../../plane/auth/secrets.ts";
import { formatTimestamp } from "../../plane/base/clock.ts";
import { newId } from "../../plane/base/ids.ts";
import { createSso, type Sso } from "../../plane/core/sso.ts";
import { openSqliteStore } from "../../plane/store/dialects/sqlite/store.ts";
import type { Store } from "../../plane/store/store.ts";
import { openBrowser } from "../harness/browser.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startIdentityProvider,
  type TestProvider,
} from "../harness/identity-provider.ts";

const REDIRECT = "http://127.0.0.1:9/v1/sso/callback";
const MINUTE = 60_000;

let folder: string;
let store: Store;
let provider: TestProvider;
let now = Date.now();
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "aim-sso-times-"));
  store = await openSqliteStore(join(folder, "aim.sqlite"), (error) => {
    throw error;
  });
  provider = await startIdentityProvider(REDIRECT);
  provider.become({ sub: "ada", preferred_username: "ada", groups: ["ops"] });
});
afterAll(async () => {
  await store.close();
  await provider[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function ssoWith(backchannelLogout: boolean): Sso {
  const settings = {
    issuer: provider.issuer,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    redirectUri: REDIRECT,
    scopes: ["openid", "profile", "groups"],
    claims: { groups: "groups", name: "preferred_username" },
    ca: null,
  };
  return createSso({
    store,
    clock: { now: () => now, timestamp: () => formatTimestamp(now) },
    newId,
    roles: [{ group: "ops", role: "viewer", customer: null, job_types: null }],
    backchannelLogout,
    provider: createIdentityProvider(settings, { now: () => now, tell: () => undefined }),
  });
}

/** Goes to the provider and back. */
async function cameBack(location: string): Promise<string> {
  const { url } = await openBrowser().go(location, /^http:\/\/127\.0\.0\.1:9\//);
  return new URL(url).search;
}

test.for([
  [10 * MINUTE - 1, true],
  [10 * MINUTE, false],
] as const)("a login that takes %d ms is good: %s", async ([takes, good]) => {
  const sso = ssoWith(false);
  const { flowId, location } = await sso.begin(null, null);
  const query = await cameBack(location);
  now += takes;
  const finished = sso.finish({ flowId, query, replaces: null });
  if (good) await expect(finished).resolves.toHaveProperty("sessionId");
  else await expect(finished).rejects.toMatchObject({ code: "sso_refused" });
});

test.for([
  [59_999, true],
  [60_000, false],
] as const)("a code that a program brings after %d ms is good: %s", async ([takes, good]) => {
  const sso = ssoWith(false);
  const verifier = "v".repeat(43);
  const begun = await sso.begin({ port: 45_678, challenge: challengeOf(verifier) }, null);
  const query = await cameBack(begun.location);
  const came = await sso.finish({ flowId: begun.flowId, query, replaces: null });
  const code = "location" in came ? new URL(came.location).searchParams.get("code") : null;
  now += takes;
  const redeemed = sso.redeem({ code: code ?? "", verifier, token: { name: "x" } });
  if (good) await expect(redeemed).resolves.toMatchObject({ principal: { name: "ada" } });
  else await expect(redeemed).rejects.toMatchObject({ code: "sso_refused" });
});

test.for([
  [false, 15 * MINUTE],
  [true, 12 * 60 * MINUTE],
] as const)(
  "where the provider tells of logouts (%s), a session that is used lives %d ms",
  async ([told, life]) => {
    const sso = ssoWith(told);
    const { flowId, location } = await sso.begin(null, null);
    const came = await sso.finish({ flowId, query: await cameBack(location), replaces: null });
    const hash = hashOf("sessionId" in came ? came.sessionId : "");
    const opened = now;
    await store.touchSession({ hash, now, idleExpires: opened + 24 * 60 * MINUTE });
    expect(await store.readSession({ hash, now: opened + life - 1 })).not.toBeNull();
    expect(await store.readSession({ hash, now: opened + life })).toBeNull();
  },
);

test("a login begins on one plane and ends on another that shares the database", async () => {
  const [one, other] = [ssoWith(false), ssoWith(false)];
  const { flowId, location } = await one.begin(null, null);
  const back = { flowId, query: await cameBack(location), replaces: null };
  expect(await other.finish(back)).toHaveProperty("sessionId");
  await expect(one.finish(back)).rejects.toMatchObject({ code: "sso_refused" });
});
