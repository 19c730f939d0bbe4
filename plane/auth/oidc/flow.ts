// What one login at the identity provider needs to be told from every other. All of it follows from the id that only the
// browser has, so that the database keeps nothing that anybody could use.
import { createHash, createHmac } from "node:crypto";

export interface FlowSecrets {
  /** Comes back with the browser: the answer belongs to this login. */
  readonly state: string;
  /** Comes back in the ID token: it was made for this login. */
  readonly nonce: string;
  /** PKCE: only who began may use the authorization code. */
  readonly verifier: string;
}

export function secretsOf(flowId: string): FlowSecrets {
  const part = (name: string) => createHmac("sha256", flowId).update(name).digest("base64url");
  return { state: part("state"), nonce: part("nonce"), verifier: part("verifier") };
}

/** The S256 challenge of a verifier. */
export function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}
