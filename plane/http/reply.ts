// How answers leave. Operations, run streams and the runner protocol speak JSON lines; every other route plain JSON with
// RFC 9457 problems. A defect becomes `internal` and a log entry.
import type { FastifyReply, FastifyRequest } from "fastify";
import {
  AimError,
  isProblemCode,
  PROBLEM_TYPE_PREFIX,
  PROBLEMS,
  type ProblemDetails,
  type WireLine,
} from "@aim/contract";
import { TooMany } from "./limits.ts";
import { sendPage, wantsPage } from "./page.ts";

export const NDJSON = "application/x-ndjson; charset=utf-8";
const PROBLEM_JSON = "application/problem+json; charset=utf-8";

export function line(value: WireLine): string {
  return `${JSON.stringify(value)}\n`;
}

export function sendResponse(reply: FastifyReply, response: unknown): FastifyReply {
  return reply.type(NDJSON).send(line({ type: "response", response }));
}

/** For a route whose answers are JSON lines, refusals included. */
export const IN_LINES = { config: { lines: true } } as const;

export function sendJson(reply: FastifyReply, body: unknown): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(JSON.stringify(body));
}

function toProblem(error: unknown, request: FastifyRequest): AimError {
  if (error instanceof AimError) return error;
  if (error instanceof TooMany) return new AimError("too_many_requests");
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") return new AimError("request_too_large");
  if (typeof statusCode === "number" && statusCode < 500) return new AimError("invalid_request");
  request.log.error({ err: error, code: "internal" }, "defect");
  return new AimError("internal");
}

export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const problem = toProblem(error, request);
  request.refusal = problem;
  const status = isProblemCode(problem.code) ? PROBLEMS[problem.code][0] : 500;
  const { lines = false } = request.routeOptions.config as { lines?: boolean };
  void reply.code(status);
  if (error instanceof TooMany) void reply.header("retry-after", error.retryAfterS);
  if (wantsPage(request)) void sendPage(reply, problem.message, problem.code);
  else if (lines) void reply.type(NDJSON).send(line({ type: "error", error: problem.toProblem() }));
  else void reply.type(PROBLEM_JSON).send(JSON.stringify(detailsOf(problem, status)));
}

/** RFC 9457: the code is the type, the fixed sentence the title. */
function detailsOf(problem: AimError, status: number): ProblemDetails {
  const { code, message, at } = problem.toProblem();
  const details = { type: `${PROBLEM_TYPE_PREFIX}${code}`, title: message, status, code };
  return at === undefined ? details : { ...details, at };
}
