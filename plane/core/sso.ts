// Coming in by the identity provider: what begins in a browser ends in a session there, or in a token for a program that
// waits on the same machine. And going: the provider tells of a logout.
import {
  AimError,
  SSO_TOKEN_TTL_S_MAX,
  type LoggedIn,
  type ProblemCode,
  type RouteName,
  type SsoCode,
} from "@aim/contract";
import { challengeOf, secretsOf } from "../auth/oidc/flow.ts";
import {
  digestOf,
  namesOf,
  rolesOf,
  type GroupRole,
  type Identity,
} from "../auth/oidc/identity.ts";
import type { IdentityProvider } from "../auth/oidc/provider.ts";
import { hashOf, newSessionId, sameText } from "../auth/secrets.ts";
import type { SsoEntered, SsoGives } from "../store/uses/sso-enter.ts";
import type { SsoFlow, Waiter } from "../store/uses/sso-flows.ts";
import { SESSION_IDLE_MS, SESSION_MS, SSO_SESSION_MS, type AccessParts } from "./access.ts";
import { makeUserToken, type SaveToken } from "./api-tokens.ts";
import { principalOf, refusedAt } from "./logins.ts";

/** How long somebody may take at the provider. */
export const FLOW_MS = 10 * 60_000;
/** From the browser to the program on the same machine. */
const CODE_MS = 60_000;
/** Logins that may be under way at once. */
const FLOWS_MAX = 10_000;

export interface SsoParts extends AccessParts {
  readonly provider: IdentityProvider;
  readonly roles: readonly GroupRole[];
  readonly backchannelLogout: boolean;
}

export interface Begun {
  /** Only for the browser. */
  readonly flowId: string;
  /** Where it goes next. */
  readonly location: string;
}

export interface CameBack {
  /** Null for a browser that brought none. */
  readonly flowId: string | null;
  /** As the provider made it. */
  readonly query: string;
  /** The session that the browser has now. */
  readonly replaces: string | null;
}

/** A session for the browser; or the address of the program that waits, with a code or with what went wrong. */
export type Came =
  | { readonly sessionId: string }
  | { readonly location: string; readonly refusal: AimError | null };

export interface Sso {
  /** `before` is the session that the browser has: it ends when the new one begins. */
  readonly begin: (waiter: Waiter | null, before: string | null) => Promise<Begun>;
  readonly finish: (back: CameBack) => Promise<Came>;
  readonly redeem: (wish: SsoCode) => Promise<LoggedIn>;
  /** By the logout token. Throws logout_refused, and sso_off where the provider was not to tell of logouts. */
  readonly logout: (token: string) => Promise<void>;
}

export function createSso(parts: SsoParts): Sso {
  const { clock, provider, store } = parts;

  async function begin(waiter: Waiter | null, before: string | null): Promise<Begun> {
    const flowId = newSessionId();
    const location = await provider.begin(flowId);
    const now = clock.now();
    const replaces = before === null ? null : hashOf(before);
    const flow: SsoFlow = { hash: hashOf(flowId), replaces, waiter, expires: now + FLOW_MS };
    const kept = await store.saveSsoFlow({ ...flow, now, most: FLOWS_MAX });
    if (!kept) throw new AimError("too_many_requests");
    return { flowId, location };
  }

  async function finish({ flowId, query, replaces }: CameBack): Promise<Came> {
    // Looked at first: an address that somebody else made must not use up a login that is under way.
    if (flowId === null || !belongs(flowId, query)) throw new AimError("sso_refused");
    const flow = await store.takeSsoFlow({ hash: hashOf(flowId), now: clock.now() });
    if (flow === null) throw new AimError("sso_refused");
    const identify = () => provider.finish(flowId, query);
    if (flow.waiter !== null) return sendOn(parts, flow.waiter, identify);
    const sessionId = newSessionId();
    const ended = replaces === null ? flow.replaces : hashOf(replaces);
    await enter(parts, identify, (now) => ({
      session: {
        hash: hashOf(sessionId),
        idleExpires: now + SESSION_IDLE_MS,
        absoluteExpires: now + (parts.backchannelLogout ? SESSION_MS : SSO_SESSION_MS),
      },
      replaces: ended,
    }));
    return { sessionId };
  }

  async function redeem({ code, token, verifier }: SsoCode): Promise<LoggedIn> {
    const now = clock.now();
    const [hash, challenge] = [hashOf(code), challengeOf(verifier)];
    const user = await store.readSsoCode({ hash, now });
    if (user === null) throw new AimError("sso_refused");
    if (user.disabled) throw refusedAt("login_refused", user);
    const principal = principalOf(user);
    const save: SaveToken = async (kept) => {
      const good = await store.useSsoCode({ hash, challenge, token: kept, now });
      if (!good) throw refusedAt("sso_refused", user);
    };
    const made = await makeUserToken(parts, principal, { ...token, route: "ssoRedeem", save });
    return { principal, token: made.token, expires_at: made.about.expires_at };
  }

  async function logout(token: string): Promise<void> {
    if (!parts.backchannelLogout) throw new AimError("sso_off");
    const { goodUntil, issuer, jti, sid, subject } = await provider.readLogout(token);
    const digest = (value: string | null) => (value === null ? null : digestOf(issuer, value));
    const fresh = await store.ssoLogout({
      issuer,
      subject,
      jtiDigest: digestOf(issuer, jti),
      subjectDigest: digest(subject),
      sidDigest: digest(sid),
      now: clock.now(),
      expires: goodUntil,
      route: "ssoLogout",
    });
    if (!fresh) throw new AimError("logout_refused");
  }

  return { begin, finish, redeem, logout };
}

/** Whether the answer is one to the login that this browser began. */
function belongs(flowId: string, query: string): boolean {
  const [state = "", ...more] = new URLSearchParams(query).getAll("state");
  return more.length === 0 && sameText(state, secretsOf(flowId).state);
}

/** The program learns at once what became of the login, also when it was refused. */
async function sendOn(
  parts: SsoParts,
  { challenge, port }: Waiter,
  identify: () => Promise<Identity>,
): Promise<Came> {
  const to = (name: string, value: string) => `http://127.0.0.1:${port}/?${name}=${value}`;
  const code = newSessionId();
  try {
    await enter(parts, identify, (now) => ({
      code: { hash: hashOf(code), challenge, expires: now + CODE_MS },
    }));
  } catch (error) {
    if (!(error instanceof AimError)) throw error;
    return { location: to("error", error.code), refusal: error };
  }
  return { location: to("code", code), refusal: null };
}

const ROUTE: RouteName = "ssoCallback";

async function enter(
  parts: SsoParts,
  identify: () => Promise<Identity>,
  gives: (now: number) => SsoGives,
): Promise<void> {
  const begun = parts.clock.now();
  const identity = await identify();
  const { issuer, sid, subject } = identity;
  const now = Math.round(parts.clock.now());
  const entered = await parts.store.ssoEnter({
    issuer,
    subject,
    subjectDigest: digestOf(issuer, subject),
    sidDigest: sid === null ? null : digestOf(issuer, sid),
    sidExpires: now + SESSION_MS + SSO_TOKEN_TTL_S_MAX * 1000,
    roles: rolesOf(identity.groups, parts.roles),
    fresh: { id: parts.newId("usr"), names: namesOf(identity) },
    gives: gives(now),
    begun,
    now,
    route: ROUTE,
  });
  if ("refused" in entered) throw refusalOf(entered);
}

const REFUSALS = {
  disabled: "login_refused",
  logged_out: "sso_refused",
  no_name: "sso_refused",
  no_role: "sso_no_role",
} as const satisfies Record<string, ProblemCode>;

function refusalOf({ refused, userId }: Extract<SsoEntered, { refused: unknown }>): AimError {
  return refusedAt(REFUSALS[refused], userId === null ? null : { id: userId });
}
