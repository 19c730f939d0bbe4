// Login by the identity provider. Translates between browsers, programs and the core; decides nothing.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AimError, ROUTES, SsoCodeSchema, SsoWaiterSchema } from "@aim/contract";
import { FLOW_MS, type Sso } from "../core/sso.ts";
import type { Waiter } from "../store/uses/sso-flows.ts";
import { check } from "./check.ts";
import { sessionIn } from "./identity.ts";
import type { Limits } from "./limits.ts";
import type { CookieStyle } from "./login-routes.ts";
import { IN_PAGES, sendPage } from "./page.ts";
import { sendJson } from "./reply.ts";

export interface SsoRouteParts {
  /** Null where no identity provider is named. */
  readonly sso: Sso | null;
  readonly limits: Limits;
}

const FOUND = 302;
const FORM_BYTES_MAX = 64 * 1024;

/** Lax: it has to come back from the provider's pages. Strict ones do not. */
function flowStyle(cookie: CookieStyle): CookieStyle {
  const attributes = cookie.attributes.replace("SameSite=Strict", "SameSite=Lax");
  return { name: `${cookie.name}-login`, attributes };
}

export function addSsoRoutes(
  app: FastifyInstance,
  { limits, sso }: SsoRouteParts,
  cookie: CookieStyle,
): void {
  const flow = flowStyle(cookie);
  const cookieIn = ({ headers }: FastifyRequest, { name }: CookieStyle) =>
    sessionIn(headers.cookie ?? "", name);

  /** What is tried counts before it is looked at. */
  function served({ ip }: FastifyRequest): Sso {
    if (sso === null) throw new AimError("sso_off");
    limits.trySso(ip);
    return sso;
  }

  app.get(ROUTES.ssoStart.path, IN_PAGES, async (request, reply) => {
    const waiter = waiterIn(request.query);
    const begun = await served(request).begin(waiter, cookieIn(request, cookie));
    const age = `Max-Age=${FLOW_MS / 1000}`;
    void reply.header("set-cookie", `${flow.name}=${begun.flowId}; ${age}; ${flow.attributes}`);
    return reply.redirect(begun.location, FOUND);
  });

  app.get(ROUTES.ssoCallback.path, IN_PAGES, async (request, reply) => {
    const came = await served(request).finish({
      flowId: cookieIn(request, flow),
      query: queryOf(request),
      replaces: cookieIn(request, cookie),
    });
    void reply.header("set-cookie", `${flow.name}=; Max-Age=0; ${flow.attributes}`);
    if ("sessionId" in came) {
      void reply.header("set-cookie", `${cookie.name}=${came.sessionId}; ${cookie.attributes}`);
      return sendPage(reply, "You are logged in.");
    }
    request.refusal = came.refusal;
    return reply.redirect(came.location, FOUND);
  });

  app.post(ROUTES.ssoRedeem.path, async (request, reply) => {
    const wish = check(SsoCodeSchema, request.body);
    return sendJson(reply, await served(request).redeem(wish));
  });

  void app.register(async (forms) => {
    forms.removeAllContentTypeParsers();
    const form = { parseAs: "string", bodyLimit: FORM_BYTES_MAX } as const;
    forms.addContentTypeParser<string>("application/x-www-form-urlencoded", form, (_, text, done) =>
      done(null, new URLSearchParams(text)),
    );
    forms.post(ROUTES.ssoLogout.path, async (request, reply) => {
      if (sso === null) throw new AimError("sso_off");
      return heard(request, reply, sso);
    });
  });

  /** The provider has one address for everybody: only what is refused counts against it. */
  async function heard({ body, ip }: FastifyRequest, reply: FastifyReply, told: Sso) {
    limits.tryToken(ip);
    try {
      await told.logout(logoutTokenIn(body));
    } catch (error) {
      limits.badToken(ip);
      throw error;
    }
    return reply.send();
  }
}

function waiterIn(query: unknown): Waiter | null {
  if (Object.keys(query as object).length === 0) return null;
  const { challenge, port } = check(SsoWaiterSchema, query);
  return { challenge, port: Number(port) };
}

/** As it came: what stands in it twice must not look as if it stood there once. */
function queryOf({ raw }: FastifyRequest): string {
  return (raw.url ?? "").replace(/^[^?]*/, "");
}

function logoutTokenIn(body: unknown): string {
  const tokens = body instanceof URLSearchParams ? body.getAll("logout_token") : [];
  const [token = "", ...more] = tokens;
  if (token === "" || more.length > 0) throw new AimError("invalid_request", "/logout_token");
  return token;
}
