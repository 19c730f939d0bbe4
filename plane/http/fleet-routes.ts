// What runs this installation: its runners, what attempts took, and the API's own description.
import type { FastifyInstance } from "fastify";
import {
  openApi,
  ROUTES,
  RunnerInstanceIdSchema,
  USAGE_PER_PAGE_MAX,
  type Usage,
} from "@aim/contract";
import { allowed } from "../audit/chain.ts";
import { scopeOf } from "../auth/can.ts";
import { formatTimestamp } from "../base/clock.ts";
import type { CoreParts } from "../core/parts.ts";
import { requireIn } from "../core/rights.ts";
import { listRunners } from "../core/runners.ts";
import type { Store } from "../store/store.ts";
import { whoAsks } from "./identity.ts";
import { afterOf, idIn } from "./params.ts";
import { sendJson } from "./reply.ts";

const runnerIdOf = idIn("runner_instance_id", RunnerInstanceIdSchema);

export function addFleetRoutes(app: FastifyInstance, parts: CoreParts): void {
  app.get(ROUTES.runnerList.path, async (_, reply) => sendJson(reply, await listRunners(parts)));

  app.post(ROUTES.runnerDrain.path, async (request, reply) => {
    requireIn(whoAsks(request), "runner.write", { code: "not_permitted" });
    const runner_instance_id = runnerIdOf(request.params);
    const audit = allowed(whoAsks(request), {
      action: "runner.write",
      customer: null,
      what: { runner_instance_id },
      now: parts.clock.now(),
    });
    await parts.dispatcher.drain(runner_instance_id, audit);
    return sendJson(reply, {});
  });

  app.get(ROUTES.usage.path, async (request, reply) => {
    const after = afterOf(request.query);
    const { customers } = scopeOf(whoAsks(request), "usage.read");
    const page = { after, limit: USAGE_PER_PAGE_MAX, customers };
    return sendJson(reply, (await parts.store.readUsage(page)).map(usageOf));
  });

  const document = openApi();
  app.get(ROUTES.openapi.path, async (_, reply) => sendJson(reply, document));
}

function usageOf(row: Awaited<ReturnType<Store["readUsage"]>>[number]): Usage {
  return {
    run_id: row.attempt_id,
    job_id: row.job_id,
    customer: row.customer_id,
    job_type: row.job_type,
    runner_kind: row.runner_kind,
    state: row.state as Usage["state"],
    attempt_ms: row.attempt_ms,
    artifact_bytes: row.artifact_bytes,
    ended_at: formatTimestamp(row.ended_ms),
    cursor: row.cursor,
  };
}
