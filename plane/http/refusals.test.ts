import Fastify, { LogController, type FastifyBaseLogger } from "fastify";
import { pino } from "pino";
import { expect, test } from "vitest";
import { AimError, ROUTES, type Principal } from "@aim/contract";
import type { AuditEntry } from "../audit/chain.ts";
import { NotTheirs } from "../core/rights.ts";
import { askWhoComes, LOCAL_DOOR, type Identify } from "./identity.ts";
import { traceRefusals } from "./refusals.ts";
import { sendProblem } from "./reply.ts";

const ADA: Principal = {
  kind: "user",
  id: "u1",
  name: "Ada",
  roles: [{ role: "viewer", customer: "acme", job_types: null }],
};
const JOB_ID = `job_${"0".repeat(26)}`;
const CANARY = "canary-1f8e";

/** The routes of a plane that refuses; what it told the audit and wrote to its log. */
function refusing(identify: Identify) {
  const entries: AuditEntry[] = [];
  const log: string[] = [];
  const app = Fastify({
    loggerInstance: pino(
      { level: "info" },
      { write: (line: string) => void log.push(line) },
    ) as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
  });
  let now = 0;
  traceRefusals(app, {
    store: { recordAudit: async ({ entry }) => void entries.push(entry) },
    clock: { now: () => now },
  });
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
  app.setNotFoundHandler((request, reply) =>
    sendProblem(new AimError("not_found"), request, reply),
  );
  askWhoComes(app, { ...LOCAL_DOOR, identify });
  app.get(ROUTES.job.path, async () => {
    throw new NotTheirs("not_found", { action: "job.read", customer: "other", jobId: JOB_ID });
  });
  app.get(ROUTES.jobList.path, async () => {
    throw new AimError("invalid_request", "/limit");
  });
  app.post(ROUTES.jobCreate.path, async () => ({}));
  const pass = (milliseconds: number) => (now += milliseconds);
  return { app, entries, log, pass };
}

test("a thing of somebody else is told to the audit, and a wrong field only to the log", async () => {
  const { app, entries, log } = refusing(() => ADA);
  await app.inject({ url: `/v1/jobs/${JOB_ID}` });
  await app.inject({ url: "/v1/jobs?limit=0" });
  await app.close();
  expect(entries).toEqual([
    {
      who: { kind: "user", id: "u1", name: "Ada" },
      action: "job.read",
      customer: "other",
      outcome: "refused",
      what: { job_id: JOB_ID },
      detail: { code: "not_found", route: "job" },
      now: 0,
    },
  ]);
  expect(log.map((line) => JSON.parse(line) as object)).toMatchObject([
    { code: "not_found", route: "job", principal: "u1", status: 404 },
    { code: "invalid_request", route: "jobList", principal: "u1", status: 400 },
  ]);
});

test("whoever lacks the role for a route is told to the audit with the route's action", async () => {
  const { app, entries } = refusing(() => ADA);
  await app.inject({ method: "POST", url: "/v1/jobs", payload: {} });
  await app.close();
  expect(entries).toMatchObject([
    { who: { id: "u1" }, action: "job.execute", detail: { code: "not_permitted" } },
  ]);
});

test("strangers who come too fast are counted, not written one by one", async () => {
  const { app, entries, pass } = refusing(() => {
    throw new AimError("unauthenticated");
  });
  for (let came = 0; came < 100; came += 1) await app.inject({ url: "/v1/jobs" });
  expect(entries).toHaveLength(60);
  pass(60_000);
  await app.inject({ url: "/v1/jobs" });
  await app.close();
  expect(entries.at(-1)).toMatchObject({ who: null, detail: { unrecorded: 40 } });
});

test("nothing that a caller sent stands in the log of a refused or failed request", async () => {
  const { app, log } = refusing(() => ADA);
  const headers = {
    authorization: `Bearer ${CANARY}`,
    cookie: `session=${CANARY}`,
    referer: `https://example.test/${CANARY}`,
    "user-agent": CANARY,
  };
  await app.inject({ url: `/v1/jobs?limit=${CANARY}`, headers });
  await app.inject({ url: `/v1/${CANARY}`, headers });
  await app.inject({ method: "POST", url: "/v1/jobs", headers, payload: { secret: CANARY } });
  await app.close();
  expect(log).toHaveLength(3);
  expect(log.join("")).not.toContain(CANARY);
});
