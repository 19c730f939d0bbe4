import Fastify from "fastify";
import { expect, test } from "vitest";
import { createMetrics } from "../telemetry/metrics.ts";
import { addTelemetryRoutes } from "./telemetry-routes.ts";

const GAUGES = {
  attempts: [],
  pool: [],
  deliveries: { waiting: 0, dead: 0, waitingSince: null },
};

function asked(
  dispatcher: { admitting: boolean; recovered: boolean },
  readMoment: () => Promise<number>,
) {
  const app = Fastify();
  const metrics = createMetrics({ now: () => 0, read: async () => GAUGES });
  addTelemetryRoutes(app, { metrics, dispatcher, store: { readMoment } });
  return app.inject({ url: "/readyz" });
}

const answers = async (): Promise<number> => 1;
const isGone = async (): Promise<number> => {
  throw new Error("gone");
};

test.for([
  ["recovering", { admitting: true, recovered: false }, answers],
  ["shutting_down", { admitting: false, recovered: true }, answers],
  ["store_silent", { admitting: true, recovered: true }, isGone],
] as const)("a plane that is %s is not ready", async ([why, dispatcher, readMoment]) => {
  const { statusCode, body } = await asked(dispatcher, readMoment);
  expect([statusCode, JSON.parse(body)]).toEqual([503, { ready: false, why }]);
});

test("a store that does not answer within a second makes the plane not ready", async () => {
  const never = new Promise<number>(() => undefined);
  const { statusCode, body } = await asked({ admitting: true, recovered: true }, () => never);
  expect([statusCode, JSON.parse(body)]).toEqual([503, { ready: false, why: "store_silent" }]);
});

test("a plane whose store answers is ready", async () => {
  const { statusCode } = await asked({ admitting: true, recovered: true }, async () => 1);
  expect(statusCode).toBe(200);
});
