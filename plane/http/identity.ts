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

declare module "fastify" {
  interface FastifyRequest {
    /** Set before any handler runs, on every route that asks who it is. */
    principal: Principal | null;
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

/** Answers who sent the request; throws unauthenticated when nobody can tell. */
export type Identify = (request: FastifyRequest) => Promise<Principal> | Principal;

export const identifyLocally: Identify = () => LOCAL_PRINCIPAL;

const ROUTE_OF: ReadonlyMap<string, Route> = new Map(
  Object.values<Route>(ROUTES).map((route) => [`${route.method} ${route.path}`, route]),
);

/** Before the body is read: who, and whether they may do such a thing anywhere. */
export function askWhoComes(app: FastifyInstance, identify: Identify): void {
  app.decorateRequest("principal", null);
  app.addHook("onRequest", async (request) => {
    const action = actionOf(request);
    if (action === null) return;
    request.principal = await identify(request);
    if (!mayAtAll(request.principal, action)) throw new AimError("not_permitted");
  });
}

/** A path that is no route tells nothing: it is asked for like any other. */
function actionOf({ method, routeOptions }: FastifyRequest): Action | null {
  const route = ROUTE_OF.get(`${method} ${routeOptions.url ?? ""}`);
  return route === undefined ? "capabilities.read" : route.action;
}

export function whoAsks({ principal }: FastifyRequest): Principal {
  if (principal === null) throw new AimError("unauthenticated");
  return principal;
}
