// HTTP on local sockets and, when asked, on TCP; runners on other machines come over TLS only. The only folder that speaks Fastify.
import { chmodSync, rmSync } from "node:fs";
import type { Server } from "node:https";
import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyHttpsOptions,
  type FastifyInstance,
  type FastifyServerOptions,
} from "fastify";
import { OPERATION_BYTES_MAX, parseStrict } from "@aim/contract";
import { point } from "../base/point.ts";
import { addAuditRoutes } from "./audit-routes.ts";
import { addBackupRoute, type BackupRouteParts } from "./backup-route.ts";
import {
  addClientRoutes,
  addEvidenceRoutes,
  addLocalRoutes,
  type ClientRouteParts,
} from "./client-routes.ts";
import { addDeliveryRoutes } from "./delivery-routes.ts";
import { addFleetRoutes } from "./fleet-routes.ts";
import { addJobRoutes } from "./job-routes.ts";
import { addApprovalRoutes, addSettingRoutes } from "./approval-routes.ts";
import { checkSite } from "./csrf.ts";
import { refuseCredentialsInUrl, sayHeaders } from "./headers.ts";
import { askWhoComes, createDoor, LOCAL_DOOR } from "./identity.ts";
import { NO_LIMITS } from "./limits.ts";
import { addLoginRoutes, cookieStyle, type LoginRouteParts } from "./login-routes.ts";
import { addJournalRoutes, type JournalRouteParts } from "./journal-routes.ts";
import { IN_LINES, sendProblem } from "./reply.ts";
import { traceRefusals } from "./refusals.ts";
import { LOCAL_GUARD, type RunnerGuard } from "./runner-guard.ts";
import { addTelemetryRoutes, measureRequests } from "./telemetry-routes.ts";
import { addRunnerRoutes, type RunnerRouteParts } from "./runner-routes.ts";
import {
  clientErrorHandler,
  endSlowHeaders,
  endStalledBodies,
  SERVER_BOUNDS,
} from "./slow-requests.ts";
import { addSsoRoutes, type SsoRouteParts } from "./sso-routes.ts";
import { addTokenRoutes, addUserRoutes } from "./user-routes.ts";

interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** Runners on other machines: TLS with a certificate, and a guard that asks for tokens. */
export interface RemoteFace {
  readonly tls: Tls;
  readonly guard: RunnerGuard;
}

/** Clients by TCP, who bring a token or a session; without TLS on loopback only. */
export interface ClientFace {
  readonly clients: { readonly tls: Tls | null };
}

export type Face = "local" | "runner" | RemoteFace | ClientFace;

type ServerParts = ClientRouteParts &
  RunnerRouteParts &
  LoginRouteParts &
  SsoRouteParts &
  JournalRouteParts &
  BackupRouteParts;

export function createServer(
  face: Face,
  parts: ServerParts,
  logger: FastifyBaseLogger,
): FastifyInstance {
  const app = listenerOf(face, {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: OPERATION_BYTES_MAX,
    requestTimeout: 0,
    // Open streams end with the process that closes: readers resume by sequence. What a runner has begun to say is heard.
    forceCloseConnections: isForRunners(face) ? "idle" : true,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_, text, done) => {
    try {
      done(null, parseStrict(text as string));
    } catch (error) {
      done(error as Error);
    }
  });
  app.addContentTypeParser("application/octet-stream", { parseAs: "buffer" }, (_, bytes, done) =>
    done(null, bytes),
  );
  traceRefusals(app, parts);
  measureRequests(app, parts.metrics);
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
  app.setNotFoundHandler((request, reply) =>
    sendProblem(Object.assign(new Error("no route"), { statusCode: 404 }), request, reply),
  );
  app.addHook("onSend", async ({ method }) => {
    if (method !== "GET") point("http.before_answer");
  });
  app.addHook("onResponse", async ({ method }) => {
    if (method !== "GET") point("http.after_answer");
  });
  if (isForRunners(face)) {
    app.addHook("onRoute", (route) => {
      route.config = { ...route.config, ...IN_LINES.config };
    });
    addRunnerRoutes(app, parts, face === "runner" ? LOCAL_GUARD : face.guard);
  } else addClientFace(app, face, parts);
  return app;
}

function isForRunners(face: Face): face is "runner" | RemoteFace {
  return face === "runner" || (typeof face === "object" && "guard" in face);
}

function addClientFace(app: FastifyInstance, face: "local" | ClientFace, parts: ServerParts): void {
  const tls = face !== "local" && face.clients.tls !== null;
  const cookie = cookieStyle(tls);
  sayHeaders(app, tls);
  refuseCredentialsInUrl(app);
  if (face !== "local") {
    endStalledBodies(app);
    endSlowHeaders(app, tls);
    app.addHook("onRequest", async (request) => checkSite(request));
  }
  askWhoComes(
    app,
    face === "local" ? LOCAL_DOOR : createDoor(parts.logins, cookie.name, parts.limits),
  );
  addClientRoutes(app, parts);
  addEvidenceRoutes(app, parts);
  addJobRoutes(app, parts);
  addJournalRoutes(app, parts);
  addFleetRoutes(app, parts);
  addAuditRoutes(app, parts);
  addTelemetryRoutes(app, parts);
  const limits = face === "local" ? NO_LIMITS : parts.limits;
  addLoginRoutes(app, { logins: parts.logins, limits }, cookie);
  addSsoRoutes(app, { sso: parts.sso, limits }, cookie);
  addApprovalRoutes(app, parts);
  addSettingRoutes(app, parts);
  addUserRoutes(app, parts);
  addTokenRoutes(app, parts);
  if (face !== "local") return;
  addLocalRoutes(app, parts);
  addDeliveryRoutes(app, parts);
  addBackupRoute(app, parts);
}

function listenerOf(face: Face, options: FastifyServerOptions): FastifyInstance {
  if (typeof face !== "object") return Fastify(options);
  const clients = "clients" in face;
  const tls = clients ? face.clients.tls : face.tls;
  const bounds = clients ? SERVER_BOUNDS : {};
  const bounded = clients ? { ...options, ...SERVER_BOUNDS, clientErrorHandler } : options;
  if (tls === null) return Fastify({ ...bounded, http: bounds });
  const https = { ...tls, ...bounds, minVersion: "TLSv1.2", handshakeTimeout: 10_000 } as const;
  // Fastify's types tell the two kinds of server apart; a route does not.
  const safely = { ...bounded, https } as unknown as FastifyHttpsOptions<Server>;
  return Fastify(safely);
}

/** Listens on a socket that only this user may open; replaces one that a dead process left. */
export async function listenLocally(app: FastifyInstance, path: string): Promise<void> {
  rmSync(path, { force: true });
  await app.listen({ path });
  chmodSync(path, 0o600);
}
