// Who asks, and whether their role has the route's action at all. What a handler finds it checks by itself.
import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  AimError,
  LOCAL_PRINCIPAL_ID,
  ROUTES,
  type Action,
  type Principal,
  type Route,
} from "@aim/contract";
import { mayAtAll } from "../auth/can.ts";
import type { Brought, Logins } from "../core/logins.ts";
import { checkOwnPage } from "./csrf.ts";
import type { Limits } from "./limits.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set before any handler runs, on every route that asks who it is. */
    principal: Principal | null;
    /** Asks anew, for an answer that is still going out: null once nobody comes with that session or token any more. */
    askAgain: (() => Promise<Principal | null>) | null;
  }
}

/** Whoever may open the plane's own socket owns this installation. */
export const LOCAL_PRINCIPAL: Principal = {
  kind: "local",
  id: LOCAL_PRINCIPAL_ID,
  name: LOCAL_PRINCIPAL_ID,
  roles: [
    { role: "platform-admin", customer: null, job_types: null },
    { role: "auditor", customer: null, job_types: null },
  ],
};

/** Answers who sent the request, also again later while an answer is still going out; null when nobody can tell. */
export type Identify = (request: FastifyRequest) => Promise<Principal | null> | Principal | null;

export const identifyLocally: Identify = () => LOCAL_PRINCIPAL;

export interface Door {
  readonly identify: Identify;
  /** Called before a request is identified, and when it could not be. */
  readonly before: (request: FastifyRequest) => void;
  readonly refused: (request: FastifyRequest) => void;
}

export const LOCAL_DOOR: Door = {
  identify: identifyLocally,
  before: () => undefined,
  refused: () => undefined,
};

/** Who comes by TCP brings a token or a session. */
export function createDoor(logins: Logins, cookie: string, limits: Limits): Door {
  return {
    identify: async (request) => {
      const brought = broughtBy(request, cookie);
      return brought === null ? null : logins.identify(brought);
    },
    before: (request) => {
      const brought = broughtBy(request, cookie);
      if (brought === null) return;
      if ("token" in brought) limits.tryToken(request.ip);
      else checkOwnPage(request);
    },
    refused: (request) => {
      const brought = broughtBy(request, cookie);
      if (brought !== null && "token" in brought) limits.badToken(request.ip);
    },
  };
}

/** A token beats a cookie: a program says who it is, a browser cannot help it. */
export function broughtBy({ headers }: FastifyRequest, cookie: string): Brought | null {
  if (headers.authorization !== undefined) {
    const token = /^Bearer ([\w.-]{1,4096})$/i.exec(headers.authorization)?.[1];
    return { token: token ?? "" };
  }
  const sessionId = sessionIn(headers.cookie ?? "", cookie);
  return sessionId === null ? null : { sessionId };
}

/** A name that comes twice is somebody's trick: none of them counts. */
export function sessionIn(header: string, cookie: string): string | null {
  const found = header
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${cookie}=`));
  const [only = "", ...more] = found.map((pair) => pair.slice(cookie.length + 1));
  return more.length === 0 && /^[\w-]{43}$/.test(only) ? only : null;
}

const ROUTE_OF: ReadonlyMap<string, Route> = new Map(
  Object.values<Route>(ROUTES).map((route) => [`${route.method} ${route.path}`, route]),
);

/** Before the body is read: who, and whether they may do such a thing anywhere. */
export function askWhoComes(app: FastifyInstance, door: Door): void {
  app.decorateRequest("principal", null);
  app.decorateRequest("askAgain", null);
  app.addHook("onRequest", async (request) => {
    const action = actionOf(request);
    if (action === null) return;
    door.before(request);
    const principal = await door.identify(request);
    if (principal === null) {
      door.refused(request);
      throw new AimError("unauthenticated");
    }
    request.principal = principal;
    request.askAgain = async () => door.identify(request);
    if (!mayAtAll(principal, action)) throw new AimError("not_permitted");
  });
}

/** A path that is no route tells nothing: it is asked for like any other. */
function actionOf({ method, routeOptions }: FastifyRequest): Action | null {
  const asked = method === "HEAD" ? "GET" : method;
  const route = ROUTE_OF.get(`${asked} ${routeOptions.url ?? ""}`);
  return route === undefined ? "capabilities.read" : route.action;
}

export function whoAsks({ principal }: FastifyRequest): Principal {
  if (principal === null) throw new AimError("unauthenticated");
  return principal;
}

/** Whoever sends this request now, for as long as its answer lasts. */
export function whoAsksNow({ askAgain }: FastifyRequest): () => Promise<Principal | null> {
  if (askAgain === null) throw new AimError("unauthenticated");
  return askAgain;
}
