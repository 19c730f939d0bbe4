// A real OpenID Connect provider on loopback. Nobody types a password there: the test says who sits before the browser.
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { decodeJwt, SignJWT, type JWTPayload } from "jose";
import { Provider, type ProviderContext } from "oidc-provider";
import { freePort } from "./listener.ts";

export const CLIENT_ID = "aim";
export const CLIENT_SECRET = "a secret & of/the client:1";
const SCOPES = "openid profile groups";
const KEY_ID = "one";
const EVENT = "http://schemas.openid.net/event/backchannel-logout";

export interface Person {
  readonly sub: string;
  readonly preferred_username?: string;
  readonly email?: string;
  readonly groups?: unknown;
}

/** Makes other claims of those of an ID token, or another token; lets it go out as it is by answering null. */
type Tamper = (claims: JWTPayload) => Promise<string> | JWTPayload | null;

export interface TestProvider {
  readonly issuer: string;
  /** Who sits before the browser: null refuses at the provider. */
  become: (person: Person | null) => void;
  tamper: (how: Tamper) => void;
  /** What the provider answers to each path, while this is set: a status, or nothing at all for null. */
  breakDown: (how: { readonly status: number; readonly body: string } | null) => void;
  /** Every secret that went through this provider: codes, states, tokens. */
  readonly secrets: () => readonly string[];
  /** Signs claims as the provider does, a logout token where nothing else is said. */
  readonly sign: (claims: JWTPayload, header?: { readonly typ?: string }) => Promise<string>;
  readonly logoutClaims: (about: { readonly sub?: string; readonly sid?: string }) => JWTPayload;
  /** As the provider tells of a logout by itself. */
  readonly tellLogout: (about: { readonly sub: string; readonly sid: string }) => Promise<void>;
  readonly stop: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/** `redirectUri` is the plane's. */
export async function startIdentityProvider(
  redirectUri: string,
  options: { readonly started?: boolean } = {},
): Promise<TestProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const people = new Map<string, Person>();
  const secrets = new Set<string>();
  let person: Person | null = null;
  let tamper: Tamper = () => null;
  let broken: { readonly status: number; readonly body: string } | null = null;
  const jwk = { ...privateKey.export({ format: "jwk" }), kid: KEY_ID, use: "sig", alg: "RS256" };
  const provider = new Provider(issuer, configurationOf({ redirectUri, jwk, people }));

  const sign = (claims: JWTPayload, header = {}) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: "RS256", kid: KEY_ID, typ: "logout+jwt", ...header })
      .sign(privateKey);

  provider.use(async (context: ProviderContext, next) => {
    await next();
    const { body, path } = context;
    if (path !== "/token" || typeof body?.["id_token"] !== "string") return;
    const other = tamper(decodeJwt(body["id_token"]));
    if (other === null) return remember(secrets, body);
    const id_token = other instanceof Promise ? await other : await sign(other, { typ: "JWT" });
    context.body = { ...body, id_token };
    remember(secrets, context.body);
  });

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = { error: "access_denied", error_description: "no" };
    if (person !== null) people.set(person.sub, person);
    const login = { login: { accountId: person?.sub } };
    await provider.interactionFinished(request, response, person === null ? refusal : login);
  }

  const listener = provider.callback();
  const server = createServer((request, response) => {
    for (const [, value = ""] of (request.url ?? "").matchAll(/[?&](?:state|nonce)=([^&]+)/g)) {
      secrets.add(value);
    }
    if (broken !== null) response.writeHead(broken.status).end(broken.body);
    else if (request.url?.startsWith("/interaction/") === true) void interact(request, response);
    else listener(request, response);
  });
  const start = () => listen(server, port);
  const stop = () => close(server);
  if (options.started !== false) await start();

  return {
    issuer,
    become: (who) => void (person = who),
    tamper: (how) => void (tamper = how),
    breakDown: (how) => void (broken = how),
    secrets: () => [...secrets],
    sign,
    logoutClaims: (about) => {
      const now = Math.floor(Date.now() / 1000);
      const jti = `jti-${Math.random()}`;
      return {
        iss: issuer,
        aud: CLIENT_ID,
        iat: now,
        exp: now + 60,
        jti,
        events: { [EVENT]: {} },
        ...about,
      };
    },
    tellLogout: async ({ sid, sub }) => {
      await (await provider.Client.find(CLIENT_ID))?.backchannelLogout(sub, sid);
    },
    start,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function remember(secrets: Set<string>, body: Readonly<Record<string, unknown>>): void {
  for (const name of ["access_token", "id_token"]) {
    if (typeof body[name] === "string") secrets.add(body[name]);
  }
}

interface Wanted {
  readonly redirectUri: string;
  readonly jwk: object;
  readonly people: ReadonlyMap<string, Person>;
}

function configurationOf({ jwk, people, redirectUri }: Wanted) {
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code"],
        response_types: ["code"],
        backchannel_logout_uri: new URL("/v1/sso/logout", redirectUri).href,
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [jwk] },
    cookies: { keys: ["a key of the provider"] },
    conformIdTokenClaims: false,
    claims: { openid: ["sub"], profile: ["preferred_username", "email"], groups: ["groups"] },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
    },
    // Its own way refuses addresses of this machine, where the plane is.
    fetch: (url: string, { body, headers, method }: RequestInit) =>
      fetch(url, { body, headers, method } as RequestInit),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => people.get(id) ?? { sub: id },
    }),
    loadExistingGrant: async ({ oidc }: ProviderContext) => {
      const { clientId } = oidc.client;
      const { provider } = oidc as unknown as { provider: Provider };
      const grant = new provider.Grant({ clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope(SCOPES);
      await grant.save();
      return grant;
    },
    pkce: { required: () => true },
    // Said here, since the provider remarks on each that is not.
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
