// How answers leave: JSON lines, problems as one error line with their status, defects as `internal` and a log entry.
import type { FastifyReply, FastifyRequest } from "fastify";
import { AimError, isProblemCode, PROBLEMS, type WireLine } from "@aim/contract";

export const NDJSON = "application/x-ndjson; charset=utf-8";

export function line(value: WireLine): string {
  return `${JSON.stringify(value)}\n`;
}

export function sendResponse(reply: FastifyReply, response: unknown): FastifyReply {
  return reply.type(NDJSON).send(line({ type: "response", response }));
}

export function toProblem(error: unknown, request: FastifyRequest): AimError {
  if (error instanceof AimError) return error;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") return new AimError("request_too_large");
  if (typeof statusCode === "number" && statusCode < 500) return new AimError("invalid_request");
  request.log.error({ err: error, code: "internal" }, "defect");
  return new AimError("internal");
}

export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const problem = toProblem(error, request);
  const status = isProblemCode(problem.code) ? PROBLEMS[problem.code][0] : 500;
  void reply
    .code(status)
    .type(NDJSON)
    .send(line({ type: "error", error: problem.toProblem() }));
}
