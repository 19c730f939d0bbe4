// What a monitor asks: the metrics, and whether this plane is ready. Measures every answered request as well.
import type { FastifyInstance } from "fastify";
import { AimError, ROUTES, type Readiness } from "@aim/contract";
import { can } from "../auth/can.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { whoAsks } from "./identity.ts";
import { nameOf } from "./refusals.ts";
import { sendJson } from "./reply.ts";

/** A store that has not answered by then does not answer. */
const STORE_MS = 1_000;
const NOT_READY = 503;

export interface TelemetryRouteParts {
  readonly metrics: Metrics;
  readonly dispatcher: { readonly admitting: boolean; readonly recovered: boolean };
  readonly store: { readonly readMoment: () => Promise<number> };
}

export function measureRequests(app: FastifyInstance, metrics: Metrics): void {
  app.addHook("onResponse", async (request, reply) => {
    const [route = "none"] = nameOf(request);
    metrics.answered({ route, status: reply.statusCode, seconds: reply.elapsedTime / 1000 });
  });
}

export function addTelemetryRoutes(app: FastifyInstance, parts: TelemetryRouteParts): void {
  const { metrics } = parts;
  app.get(ROUTES.metrics.path, async (request, reply) => {
    // They tell of every customer at once.
    if (!can(whoAsks(request), "metrics.read")) throw new AimError("not_permitted");
    return reply.type(metrics.contentType).send(await metrics.text());
  });

  app.get(ROUTES.ready.path, async (_, reply) => {
    const readiness = await readinessOf(parts);
    return sendJson(reply.code(readiness.ready ? 200 : NOT_READY), readiness);
  });
}

async function readinessOf({ dispatcher, store }: TelemetryRouteParts): Promise<Readiness> {
  if (!dispatcher.recovered) return { ready: false, why: "recovering" };
  if (!dispatcher.admitting) return { ready: false, why: "shutting_down" };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), STORE_MS);
  });
  const answers = store.readMoment().then(
    () => true,
    () => false,
  );
  const answered = await Promise.race([answers, late]);
  clearTimeout(timer);
  return answered ? { ready: true, why: null } : { ready: false, why: "store_silent" };
}
