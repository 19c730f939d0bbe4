import Fastify from "fastify";
import { expect, test } from "vitest";
import { ROUTES, type Register } from "@aim/contract";
import { createRunnerTokens } from "../auth/tokens.ts";
import { sendProblem } from "./reply.ts";
import { createTokenGuard, type Admitted } from "./runner-guard.ts";

const HOUR = 3_600_000;
const KNOWN = `rnr_${"1".repeat(26)}`;
const tokens = createRunnerTokens(new Uint8Array(32), () => 1_800_000_000_000);
const enrolment = tokens.enrol({ name: "depot", jobTypes: ["one.run"] }, HOUR);

/** A server of the guard's own; one runner is known to it by this name. */
function guarded(knownName: string) {
  const app = Fastify();
  const guard = createTokenGuard({
    tokens,
    holderOf: async () => KNOWN,
    nameOf: async (runner) => (runner === KNOWN ? knownName : null),
  });
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
  guard.protect(app);
  app.post(ROUTES.register.path, (request) => guard.admit(request, request.body as Register));
  app.post(ROUTES.heartbeat.path, async () => ({}));
  const call = async (url: string, token: string, payload: object) => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await app.inject({ method: "POST", url, headers, payload });
    return { status: answer.statusCode, body: answer.json<Admitted>() };
  };
  return { register: (body: object) => call(ROUTES.register.path, enrolment, body), call };
}

const body = (runner_instance_id: string) => ({
  runner_instance_id,
  job_types: ["one.run", "two.run"],
});

test("nobody becomes a runner that came with a token of another name", async () => {
  expect((await guarded("local").register(body(KNOWN))).status).toBe(401);
  expect((await guarded("depot").register(body(KNOWN))).status).toBe(200);
});

test("a runner is admitted with the name and the job types of its token", async () => {
  const runner = `rnr_${"2".repeat(26)}`;
  const { body: admitted } = await guarded("local").register(body(runner));
  expect(admitted).toMatchObject({ name: "depot", register: { job_types: ["one.run"] } });
  const session = tokens.readSession(admitted.session?.token ?? "");
  expect(session).toEqual({ name: "depot", jobTypes: ["one.run"], runner });
});

test("an enrolment token opens the door to registration only", async () => {
  const { call } = guarded("depot");
  const path = ROUTES.heartbeat.path.replace(":run_id", "run_1");
  expect((await call(path, enrolment, {})).status).toBe(401);
  const of = (runner: string) => tokens.open({ name: "depot", jobTypes: null, runner }).token;
  expect((await call(path, of(KNOWN), {})).status).toBe(200);
  expect((await call(path, of(`rnr_${"2".repeat(26)}`), {})).status).toBe(404);
});
