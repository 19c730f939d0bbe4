// Revisions that wait, their approval, and the administrator's switch. Translates; decides nothing.
import type { FastifyInstance } from "fastify";
import { ExecutionSettingSchema, ROUTES, Sha256Schema } from "@aim/contract";
import { allowed } from "../audit/chain.ts";
import { createApprovals } from "../core/approvals.ts";
import type { CoreParts } from "../core/parts.ts";
import { requireIn } from "../core/rights.ts";
import { check } from "./check.ts";
import { whoAsks } from "./identity.ts";
import { idIn } from "./params.ts";
import { sendJson } from "./reply.ts";

const revisionOf = idIn("revision", Sha256Schema);

export function addApprovalRoutes(app: FastifyInstance, parts: CoreParts): void {
  const approvals = createApprovals(parts);
  app.get(ROUTES.revisionList.path, async (request, reply) => {
    const { waiting } = request.query as { waiting?: string };
    const only = waiting !== undefined && waiting !== "false";
    return sendJson(reply, await approvals.list(whoAsks(request), only));
  });
  app.get(ROUTES.revision.path, async (request, reply) =>
    sendJson(reply, await approvals.read(whoAsks(request), revisionOf(request.params))),
  );
  app.post(ROUTES.approve.path, async (request, reply) =>
    sendJson(reply, await approvals.approve(whoAsks(request), revisionOf(request.params))),
  );
}

export function addSettingRoutes(app: FastifyInstance, parts: CoreParts): void {
  app.put(ROUTES.executionSetting.path, async (request, reply) => {
    requireIn(whoAsks(request), "setting.write", { code: "not_permitted" });
    const { enabled } = check(ExecutionSettingSchema, request.body);
    const audit = allowed(whoAsks(request), {
      action: "setting.write",
      customer: null,
      what: {},
      detail: { route: "executionSetting", enabled },
      now: parts.clock.now(),
    });
    await parts.store.setExecution({ enabled, audit });
    // Told as it is: a plane that was started without execution stays so.
    return sendJson(reply, { enabled: await parts.mayExecute() });
  });
}
