// What every answer to a client says to a browser, and what no address of a request may hold.
import type { FastifyInstance } from "fastify";
import { AimError, ROUTES } from "@aim/contract";

const CSP = [
  "default-src 'none'",
  ...["script", "style", "img", "connect", "font"].map((kind) => `${kind}-src 'self'`),
  "base-uri 'none'",
  "object-src 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const HEADERS = {
  "content-security-policy": CSP,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "permissions-policy": "",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
} as const;
const HSTS = "max-age=31536000; includeSubDomains";

/** Set on the raw answer, so that streams have them too. */
export function sayHeaders(app: FastifyInstance, tls: boolean): void {
  app.addHook("onRequest", async (_, { raw }) => {
    for (const [name, value] of Object.entries(HEADERS)) raw.setHeader(name, value);
    if (tls) raw.setHeader("strict-transport-security", HSTS);
  });
}

/** Names under which a credential could stand. An address is kept by proxies, logs and histories. */
const CREDENTIAL =
  /token|passw|passphrase|secret|credential|authorization|bearer|session|cookie|api_?key|^(?:key|auth|pwd|pat|code_verifier)$/i;
const TOKEN_TEXT = /aim_(?:pat|rnr|enr)_/i;

/**
 * The first thing that is asked of a request: nothing is done for an address with a credential. What an identity provider
 * sends along with a browser is its own choice: some add a session_state.
 */
export function refuseCredentialsInUrl(app: FastifyInstance): void {
  app.addHook("onRequest", async ({ query, raw, routeOptions }) => {
    const ours = routeOptions.url !== ROUTES.ssoCallback.path;
    const named = ours && Object.keys(query as object).some((name) => CREDENTIAL.test(name));
    if (named || TOKEN_TEXT.test(raw.url ?? "")) throw new AimError("credential_in_url");
  });
}
