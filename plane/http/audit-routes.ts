// The audit for those who read it: rows after a position, and the sealed head.
import type { FastifyInstance } from "fastify";
import { ROUTES } from "@aim/contract";
import type { CoreParts } from "../core/parts.ts";
import { whoAsks } from "./identity.ts";
import { afterOf } from "./params.ts";
import { sendJson } from "./reply.ts";

export function addAuditRoutes(app: FastifyInstance, { audit }: CoreParts): void {
  app.get(ROUTES.auditList.path, async (request, reply) => {
    const after = afterOf(request.query);
    return sendJson(reply, await audit.rows(whoAsks(request), after));
  });

  app.get(ROUTES.auditHead.path, async (request, reply) =>
    sendJson(reply, await audit.head(whoAsks(request))),
  );
}
