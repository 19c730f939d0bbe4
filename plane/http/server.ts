// HTTP on local sockets and, when asked, on TCP. The only folder that speaks Fastify.
import { chmodSync, rmSync } from "node:fs";
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { OPERATION_BYTES_MAX, parseStrict } from "@aim/contract";
import { point } from "../base/point.ts";
import { addClientRoutes, addLocalRoutes, type ClientRouteParts } from "./client-routes.ts";
import { addDeliveryRoutes } from "./delivery-routes.ts";
import { IN_LINES, sendProblem } from "./reply.ts";
import { addFleetRoutes } from "./fleet-routes.ts";
import { addJobRoutes } from "./job-routes.ts";
import { addRunnerRoutes } from "./runner-routes.ts";

export type Face = "local" | "tcp" | "runner";

export function createServer(
  face: Face,
  parts: ClientRouteParts,
  logger: FastifyBaseLogger,
): FastifyInstance {
  const app: FastifyInstance = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: OPERATION_BYTES_MAX,
    requestTimeout: 0,
    // Open streams end with the process that closes: readers resume by sequence. What a runner has begun to say is heard.
    forceCloseConnections: face === "runner" ? "idle" : true,
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
  if (face === "runner") {
    app.addHook("onRoute", (route) => {
      route.config = { ...route.config, ...IN_LINES.config };
    });
    addRunnerRoutes(app, parts);
  } else {
    addClientRoutes(app, parts);
    addJobRoutes(app, parts);
    addFleetRoutes(app, parts);
  }
  if (face === "local") {
    addLocalRoutes(app, parts);
    addDeliveryRoutes(app, parts);
  }
  return app;
}

/** Listens on a socket that only this user may open; replaces one that a dead process left. */
export async function listenLocally(app: FastifyInstance, path: string): Promise<void> {
  rmSync(path, { force: true });
  await app.listen({ path });
  chmodSync(path, 0o600);
}
