// Login, one-time codes, logout and who one is. Translates between cookies and sessions; decides nothing.
import { setTimeout as wait } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { LoginSchema, PasswordChangeSchema, ROUTES, SetupSchema } from "@aim/contract";
import type { Entered, Logins } from "../core/logins.ts";
import { check } from "./check.ts";
import { broughtBy, sessionIn, whoAsks } from "./identity.ts";
import type { Limits } from "./limits.ts";
import { sendJson } from "./reply.ts";

export interface LoginRouteParts {
  readonly logins: Logins;
  readonly limits: Limits;
}

export interface CookieStyle {
  readonly name: string;
  readonly attributes: string;
}

const BARE = "HttpOnly; SameSite=Strict; Path=/";

/** The prefix makes a browser refuse the cookie from anybody but this very host over TLS. */
export function cookieStyle(tls: boolean): CookieStyle {
  return tls
    ? { name: "__Host-aim", attributes: `Secure; ${BARE}` }
    : { name: "aim", attributes: BARE };
}

export function addLoginRoutes(
  app: FastifyInstance,
  { logins, limits }: LoginRouteParts,
  cookie: CookieStyle,
): void {
  const before = ({ headers }: FastifyRequest) => sessionIn(headers.cookie ?? "", cookie.name);

  /** What is tried counts before it is looked at. */
  async function limited(
    account: string,
    { ip }: FastifyRequest,
    work: () => Promise<Entered>,
  ): Promise<Entered> {
    await wait(limits.tryLogin(account, ip));
    const entered = await work();
    limits.loggedIn(account, ip);
    return entered;
  }

  function enter(reply: FastifyReply, { answer, sessionId }: Entered): FastifyReply {
    if (sessionId !== null) {
      void reply.header("set-cookie", `${cookie.name}=${sessionId}; ${cookie.attributes}`);
    }
    return sendJson(reply, answer);
  }

  function leave(reply: FastifyReply): FastifyReply {
    void reply.header("set-cookie", `${cookie.name}=; Max-Age=0; ${cookie.attributes}`);
    return sendJson(reply, {});
  }

  app.post(ROUTES.login.path, async (request, reply) => {
    const login = check(LoginSchema, request.body);
    const entered = limited(login.name, request, () => logins.login(login, before(request)));
    return enter(reply, await entered);
  });

  app.post(ROUTES.setup.path, async (request, reply) => {
    const setup = check(SetupSchema, request.body);
    const entered = limited(setup.code, request, () => logins.setup(setup, before(request)));
    return enter(reply, await entered);
  });

  app.post(ROUTES.logout.path, async (request, reply) => {
    const brought = broughtBy(request, cookie.name);
    if (brought !== null) await logins.logout(whoAsks(request), brought);
    return leave(reply);
  });

  app.post(ROUTES.passwordChange.path, async (request, reply) => {
    const change = check(PasswordChangeSchema, request.body);
    const who = whoAsks(request);
    await wait(limits.tryLogin(who.name, request.ip));
    await logins.changePassword(who, change);
    limits.loggedIn(who.name, request.ip);
    return leave(reply);
  });

  app.get(ROUTES.session.path, async (request, reply) => sendJson(reply, whoAsks(request)));
}
