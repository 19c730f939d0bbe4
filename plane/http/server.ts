// HTTP on local sockets and, when asked, on TCP. The only folder that speaks Fastify.
import { chmodSync, rmSync } from "node:fs";
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { OPERATION_BYTES_MAX, parseStrict } from "@aim/contract";
import { addClientRoutes, addLocalRoutes, type ClientRouteParts } from "./client-routes.ts";
import { addDeliveryRoutes } from "./delivery-routes.ts";
import { sendProblem } from "./reply.ts";
import { addRunnerRoutes, type RunnerRouteParts } from "./runner-routes.ts";

export type Face = "local" | "tcp" | "runner";

export function createServer(
  face: Face,
  parts: ClientRouteParts & RunnerRouteParts,
  logger: FastifyBaseLogger,
): FastifyInstance {
  const app: FastifyInstance = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: OPERATION_BYTES_MAX,
    requestTimeout: 0,
    // Open streams end with the process that closes: readers resume by sequence.
    forceCloseConnections: true,
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
  if (face === "runner") addRunnerRoutes(app, parts);
  else addClientRoutes(app, parts);
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
