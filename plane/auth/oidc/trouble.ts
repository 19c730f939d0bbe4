// What a failure at the identity provider is called. An error of the libraries may hold codes, tokens and addresses, so that
// nothing of it goes on but a word from a closed list.
import { AimError, type ProblemCode } from "@aim/contract";

/** Why, for the log: a word of the protocol, of the libraries or of the machine; never a text from outside. */
export interface Trouble {
  readonly code: ProblemCode;
  readonly reason: string;
}

/** The provider answered, but not for this login: a forged or old answer looks like that. */
const NOT_OURS: ReadonlySet<string> = new Set([
  "OAUTH_INVALID_RESPONSE",
  "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED",
  "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
  "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
  "OAUTH_KEY_SELECTION_FAILED",
  "OAUTH_UNSUPPORTED_OPERATION",
  "invalid_grant",
]);

/** Faults of whoever sent the token, not of the provider's keys. */
const BAD_TOKEN =
  /^ERR_(?:JWT_|JWS_|JOSE_ALG_NOT_ALLOWED|JOSE_NOT_SUPPORTED|JWKS_NO_MATCHING_KEY|JWKS_MULTIPLE_MATCHING_KEYS)/;

/** Words that OAuth and OpenID Connect define for `error`. */
const WORDS: ReadonlySet<string> = new Set([
  "access_denied",
  "account_selection_required",
  "consent_required",
  "interaction_required",
  "invalid_client",
  "invalid_grant",
  "invalid_request",
  "invalid_scope",
  "login_required",
  "server_error",
  "temporarily_unavailable",
  "unauthorized_client",
  "unsupported_grant_type",
  "unsupported_response_type",
]);
const MACHINE_WORD = /^[A-Z][A-Z0-9_]{2,59}$/;

export function reasonOf(error: unknown): string {
  const {
    cause,
    code,
    error: word,
  } = error as { cause?: unknown; code?: unknown; error?: unknown };
  if (typeof word === "string") return WORDS.has(word) ? word : "other";
  if (typeof code === "string" && MACHINE_WORD.test(code)) return code;
  return typeof cause === "object" && cause !== null ? reasonOf(cause) : "other";
}

export function troubleAtLogin(error: unknown): Trouble {
  const reason = reasonOf(error);
  const { code } = error as { code?: unknown };
  if (code === "OAUTH_AUTHORIZATION_RESPONSE_ERROR") return { code: "sso_denied", reason };
  return { code: NOT_OURS.has(reason) ? "sso_refused" : "sso_unavailable", reason };
}

export function troubleAtLogout(error: unknown): Trouble {
  const reason = reasonOf(error);
  return { code: BAD_TOKEN.test(reason) ? "logout_refused" : "sso_unavailable", reason };
}

/** Runs the work; what goes wrong is told and thrown on without what it holds. A refusal passes as it is. */
export async function guarded<T>(
  work: () => Promise<T>,
  named: (error: unknown) => Trouble,
  tell: (trouble: Trouble) => void,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AimError) throw error;
    const trouble = named(error);
    tell(trouble);
    // The library's error is no cause: it holds what must be in no log.
    // oxlint-disable-next-line preserve-caught-error
    throw new AimError(trouble.code);
  }
}
