// The logout token of OpenID Connect Back-Channel Logout 1.0: signed by the provider, for this client, fresh, about a logout.
import { jwtVerify, type JWTPayload, type JWTVerifyGetKey } from "jose";
import { AimError } from "@aim/contract";

export interface LogoutNotice {
  readonly issuer: string;
  readonly jti: string;
  /** At least one of the two is not null. */
  readonly subject: string | null;
  readonly sid: string | null;
  /** No token that is good now is good after this moment. */
  readonly goodUntil: number;
}

export interface LogoutRules {
  readonly issuer: string;
  readonly clientId: string;
  readonly keys: JWTVerifyGetKey;
  /** The plane's milliseconds since 1970. */
  readonly now: number;
}

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** No secret of the client signs: whoever could read it here could end everybody's sessions. */
const ALGORITHMS = ["RS", "PS", "ES"].flatMap((kind) =>
  ["256", "384", "512"].map((size) => `${kind}${size}`),
);
const AGE_S = 300;
const CLOCKS_APART_S = 60;
const GOOD_MS = (AGE_S + 2 * CLOCKS_APART_S) * 1000;
const TEXT_MAX = 255;

/** Throws an error of jose for a token that is not signed so, and logout_refused for one about something else. */
export async function readLogoutToken(token: string, rules: LogoutRules): Promise<LogoutNotice> {
  const { payload, protectedHeader } = await jwtVerify(token, rules.keys, {
    issuer: rules.issuer,
    audience: rules.clientId,
    algorithms: [...ALGORITHMS, "EdDSA", "Ed25519"],
    requiredClaims: ["exp", "iat", "jti"],
    maxTokenAge: AGE_S,
    clockTolerance: CLOCKS_APART_S,
    currentDate: new Date(rules.now),
  });
  const { typ = "logout+jwt" } = protectedHeader;
  if (!/^(?:application\/)?(?:logout\+)?jwt$/i.test(typ)) throw new AimError("logout_refused");
  const { jti } = payload;
  const [subject, sid] = [nameIn(payload, "sub"), nameIn(payload, "sid")];
  const named = subject !== null || sid !== null;
  if (!isLogout(payload) || jti === undefined || jti.length > TEXT_MAX || !named) {
    throw new AimError("logout_refused");
  }
  return { issuer: rules.issuer, jti, subject, sid, goodUntil: rules.now + GOOD_MS };
}

/** An ID token has a nonce and no such event: it must not pass for a logout. */
function isLogout({ events, nonce }: JWTPayload): boolean {
  if (nonce !== undefined || typeof events !== "object" || events === null) return false;
  const event = (events as Record<string, unknown>)[EVENT];
  return typeof event === "object" && event !== null;
}

function nameIn(payload: JWTPayload, claim: "sid" | "sub"): string | null {
  const value = payload[claim];
  return typeof value === "string" && value !== "" && value.length <= TEXT_MAX ? value : null;
}
