// Revisions that wait, their approval, and the administrator's switch. Translates; decides nothing.
import type { FastifyInstance } from "fastify";
import { AimError, ExecutionSettingSchema, ROUTES } from "@aim/contract";
import { allowed } from "../audit/chain.ts";
import { can } from "../auth/can.ts";
import { createApprovals } from "../core/approvals.ts";
import type { CoreParts } from "../core/parts.ts";
import { check } from "./check.ts";
import { whoAsks } from "./identity.ts";
import { sendJson } from "./reply.ts";

const REVISION = /^[0-9a-f]{64}$/;

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
    if (!can(whoAsks(request), "setting.write")) throw new AimError("not_permitted");
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

function revisionOf(params: unknown): string {
  const { revision = "" } = params as { revision?: string };
  if (!REVISION.test(revision)) throw new AimError("not_found");
  return revision;
}
