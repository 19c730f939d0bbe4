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
import { AimError, OPERATION_BYTES_MAX, parseStrict } from "@aim/contract";
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
import { askWhoComes, identifyLocally } from "./identity.ts";
import { IN_LINES, sendProblem } from "./reply.ts";
import { traceRefusals } from "./refusals.ts";
import { LOCAL_GUARD, type RunnerGuard } from "./runner-guard.ts";
import { addTelemetryRoutes, measureRequests } from "./telemetry-routes.ts";
import { addRunnerRoutes, type RunnerRouteParts } from "./runner-routes.ts";

/** Runners on other machines: TLS with a certificate, and a guard that asks for tokens. */
export interface RemoteFace {
  readonly tls: { readonly cert: string; readonly key: string };
  readonly guard: RunnerGuard;
}

export type Face = "local" | "tcp" | "runner" | RemoteFace;

export function createServer(
  face: Face,
  parts: ClientRouteParts & RunnerRouteParts & BackupRouteParts,
  logger: FastifyBaseLogger,
): FastifyInstance {
  const app = listenerOf(face, {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: OPERATION_BYTES_MAX,
    requestTimeout: 0,
    // Open streams end with the process that closes: readers resume by sequence. What a runner has begun to say is heard.
    forceCloseConnections: face === "runner" || typeof face === "object" ? "idle" : true,
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
  if (typeof face === "object" || face === "runner") {
    app.addHook("onRoute", (route) => {
      route.config = { ...route.config, ...IN_LINES.config };
    });
    addRunnerRoutes(app, parts, typeof face === "object" ? face.guard : LOCAL_GUARD);
  } else {
    askWhoComes(
      app,
      face === "local"
        ? identifyLocally
        : () => {
            throw new AimError("unauthenticated");
          },
    );
    addClientRoutes(app, parts);
    addEvidenceRoutes(app, parts);
    addJobRoutes(app, parts);
    addFleetRoutes(app, parts);
    addAuditRoutes(app, parts);
    addTelemetryRoutes(app, parts);
  }
  if (face === "local") {
    addLocalRoutes(app, parts);
    addDeliveryRoutes(app, parts);
    addBackupRoute(app, parts);
  }
  return app;
}

function listenerOf(face: Face, options: FastifyServerOptions): FastifyInstance {
  if (typeof face !== "object") return Fastify(options);
  const https = { ...face.tls, minVersion: "TLSv1.2" } as const;
  // Fastify's types tell the two kinds of server apart; a route does not.
  const safely = { ...options, https } as unknown as FastifyHttpsOptions<Server>;
  return Fastify(safely);
}

/** Listens on a socket that only this user may open; replaces one that a dead process left. */
export async function listenLocally(app: FastifyInstance, path: string): Promise<void> {
  rmSync(path, { force: true });
  await app.listen({ path });
  chmodSync(path, 0o600);
}
