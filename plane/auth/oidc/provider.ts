// The identity provider: found at the first login and asked over OpenID Connect. Keeps no token; knows no HTTP and no store.
import { createRemoteJWKSet, customFetch as joseFetch, type JWTVerifyGetKey } from "jose";
import * as client from "openid-client";
import { AimError } from "@aim/contract";
import { challengeOf, secretsOf } from "./flow.ts";
import { identityOf, type ClaimNames, type Identity } from "./identity.ts";
import { readLogoutToken, type LogoutNotice } from "./logout-token.ts";
import { createProviderFetch } from "./transport.ts";
import { guarded, troubleAtLogin, troubleAtLogout, type Trouble } from "./trouble.ts";

export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: string | null;
  /** Exactly as the provider knows it. */
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly claims: ClaimNames;
  /** PEM of the authority that made the provider's certificate; null for those that the machine trusts. */
  readonly ca: string | null;
}

export interface IdentityProvider {
  /** The address to which the browser goes. */
  readonly begin: (flowId: string) => Promise<string>;
  /** Who came back, by the query of the callback. Throws sso_refused, sso_denied or sso_unavailable. */
  readonly finish: (flowId: string, query: string) => Promise<Identity>;
  /** Throws logout_refused or sso_unavailable. */
  readonly readLogout: (token: string) => Promise<LogoutNotice>;
}

interface Found {
  readonly config: client.Configuration;
  readonly keys: JWTVerifyGetKey;
  readonly at: number;
}

/** What the provider says of itself is asked for again after this long. */
const FOUND_MS = 3_600_000;
const ANSWER_S = 10;

export interface ProviderParts {
  /** The plane's milliseconds since 1970. */
  readonly now: () => number;
  readonly tell: (trouble: Trouble) => void;
}

export function createIdentityProvider(
  settings: ProviderSettings,
  { now, tell }: ProviderParts,
): IdentityProvider {
  const find = finder(settings, now);
  const unavailable = (error: unknown): Trouble => {
    return { code: "sso_unavailable", reason: troubleAtLogin(error).reason };
  };
  const found = () => guarded(find, unavailable, tell);

  async function begin(flowId: string): Promise<string> {
    const { config } = await found();
    const { nonce, state, verifier } = secretsOf(flowId);
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: settings.redirectUri,
      scope: settings.scopes.join(" "),
      code_challenge: challengeOf(verifier),
      code_challenge_method: "S256",
      state,
      nonce,
    });
    return url.href;
  }

  async function finish(flowId: string, query: string): Promise<Identity> {
    const { config } = await found();
    const claims = await guarded(
      () => claimsOf(config, settings, { flowId, query }),
      troubleAtLogin,
      tell,
    );
    const identity = identityOf(claims, settings.claims);
    if (identity === null) throw new AimError("sso_refused");
    return identity;
  }

  async function readLogout(token: string): Promise<LogoutNotice> {
    const { config, keys } = await found();
    const { issuer } = config.serverMetadata();
    const rules = { issuer, clientId: settings.clientId, keys, now: now() };
    return guarded(() => readLogoutToken(token, rules), troubleAtLogout, tell);
  }

  return { begin, finish, readLogout };
}

/** Asks the provider what it is: at the first need, again after a while, and after each time that it could not be reached. */
function finder(settings: ProviderSettings, now: () => number): () => Promise<Found> {
  let asking: Promise<Found> | null = null;
  let last: Found | null = null;
  return async () => {
    if (last !== null && now() - last.at < FOUND_MS) return last;
    asking ??= discover(settings, now);
    try {
      last = await asking;
    } finally {
      asking = null;
    }
    return last;
  };
}

async function discover(settings: ProviderSettings, now: () => number): Promise<Found> {
  const fetch = createProviderFetch(settings.ca);
  const issuer = new URL(settings.issuer);
  const plain = issuer.protocol === "http:" ? [client.allowInsecureRequests] : [];
  const config = await client.discovery(
    issuer,
    settings.clientId,
    undefined,
    authenticationOf(settings.clientSecret),
    {
      [client.customFetch]: fetch,
      timeout: ANSWER_S,
      // The signature of the ID token is checked as well, not only the connection that it came by.
      execute: [client.enableNonRepudiationChecks, ...plain],
    },
  );
  const { jwks_uri: address } = config.serverMetadata();
  if (address === undefined) throw new TypeError("the provider names no keys");
  const keys = createRemoteJWKSet(new URL(address), { [joseFetch]: fetch });
  return { config, keys, at: now() };
}

/** In the header where the provider takes it there, as OpenID Connect has it for whoever says nothing. */
function authenticationOf(secret: string | null): client.ClientAuth {
  if (secret === null) return client.None();
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const known = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return (known.includes("client_secret_basic") ? basic : post)(server, ...rest);
  };
}

interface Answer {
  readonly flowId: string;
  readonly query: string;
}

/** The claims of the ID token; those of the user info behind them where the token names no groups. */
async function claimsOf(
  config: client.Configuration,
  settings: ProviderSettings,
  { flowId, query }: Answer,
): Promise<Readonly<Record<string, unknown>>> {
  const { nonce, state, verifier } = secretsOf(flowId);
  const url = new URL(settings.redirectUri);
  url.search = query;
  const tokens = await client.authorizationCodeGrant(config, url, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (claims === undefined) throw new AimError("sso_refused");
  const complete = claims[settings.claims.groups] !== undefined;
  if (complete || config.serverMetadata().userinfo_endpoint === undefined) return claims;
  const more = await client.fetchUserInfo(config, tokens.access_token, claims.sub);
  return { ...more, ...claims };
}
