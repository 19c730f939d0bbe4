// A plane that lets people of a real identity provider in, and what they do with it.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROUTES, type Principal } from "@aim/contract";
import { openBrowser, type Browser, type Page } from "./browser.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startIdentityProvider,
  type Person,
  type TestProvider,
} from "./identity-provider.ts";
import { freePort } from "./listener.ts";
import { makeFolder } from "./plane.ts";
import { startTeamPlane, type TeamPlane } from "./team-plane.ts";

export interface SsoPlane {
  readonly plane: TeamPlane;
  readonly provider: TestProvider;
  /** In the browser that is given, else in a new one. */
  readonly login: (person: Person | null, browser?: Browser) => Promise<LoginEnd>;
  /** Until the provider has sent the browser back; the callback is not opened. */
  readonly loginUntilBack: (person: Person, browser: Browser) => Promise<Page>;
  /** Null for nobody. */
  readonly whoIs: (browser: Browser) => Promise<Principal | null>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

export interface LoginEnd {
  readonly browser: Browser;
  readonly page: Page;
}

export interface SsoPlaneOptions {
  readonly backchannelLogout?: boolean;
  readonly providerStarted?: boolean;
  readonly tls?: boolean;
}

const ROLES = [
  { group: "ops", role: "operator", customer: "acme", job_types: null },
  { group: "ops", role: "viewer", customer: "acme", job_types: ["ansible.playbook.run"] },
  { group: "watchers", role: "viewer", customer: "acme", job_types: null },
  { group: "admins", role: "platform-admin", customer: null, job_types: null },
];

export async function startSsoPlane(options: SsoPlaneOptions = {}): Promise<SsoPlane> {
  const port = await freePort();
  const url = `${options.tls === true ? "https" : "http"}://127.0.0.1:${port}`;
  const provider = await startIdentityProvider(url + ROUTES.ssoCallback.path, {
    started: options.providerStarted !== false,
  });
  const home = makeFolder("sso");
  const folder = join(home, "oidc");
  mkdirSync(folder);
  writeFileSync(join(folder, "secret"), `${CLIENT_SECRET}\n`, { mode: 0o600 });
  const file = {
    issuer: provider.issuer,
    client_id: CLIENT_ID,
    client_secret_file: "secret",
    public_url: url,
    scopes: ["openid", "profile", "groups"],
    roles: ROLES,
    backchannel_logout: options.backchannelLogout ?? false,
  };
  writeFileSync(join(folder, "oidc.json"), JSON.stringify(file));
  const plane = await startTeamPlane({
    home,
    port,
    tls: options.tls === true,
    arguments: ["--oidc", join(folder, "oidc.json")],
  });
  const start = `${url}${ROUTES.ssoStart.path}`;
  return {
    plane,
    provider,
    login: async (person, browser = openBrowser()) => {
      provider.become(person);
      return { browser, page: await browser.go(start) };
    },
    loginUntilBack: (person, browser) => {
      provider.become(person);
      return browser.go(start, /\/v1\/sso\/callback/);
    },
    whoIs: async (browser) => {
      const value = browser.cookie(url, "aim");
      if (value === undefined) return null;
      const { json, status } = await plane.ask({ path: "/v1/session", cookie: `aim=${value}` });
      return status === 200 ? (json as Principal) : null;
    },
    [Symbol.asyncDispose]: async () => {
      await plane[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}
