// The job API: bundles in, jobs in, jobs out. Translates; decides nothing.
import type { FastifyInstance } from "fastify";
import {
  AimError,
  ATTEMPT_STATES,
  BUNDLE_FILE_BYTES_MAX,
  BundleSchema,
  JOB_BYTES_MAX,
  JobIdSchema,
  JobRequestSchema,
  JOBS_PER_PAGE_MAX,
  RetryRequestSchema,
  ROUTES,
  type AttemptState,
} from "@aim/contract";
import { keepBundle } from "../core/bundles.ts";
import { createJobs } from "../core/jobs.ts";
import type { CoreParts } from "../core/parts.ts";
import { check } from "./check.ts";
import { whoAsks } from "./identity.ts";
import { idIn, isOf, limitOf } from "./params.ts";
import { sendJson } from "./reply.ts";

export const jobIdOf = idIn("job_id", JobIdSchema);
const isJobId = isOf(JobIdSchema);
const JOBS_PER_PAGE = 50;
const CREATED = 201;

export function addJobRoutes(app: FastifyInstance, parts: CoreParts): void {
  const jobs = createJobs(parts);

  app.put(
    ROUTES.sourceUpload.path,
    { bodyLimit: BUNDLE_FILE_BYTES_MAX },
    async (request, reply) => {
      const { sha256 = "" } = request.params as { sha256?: string };
      if (!(request.body instanceof Buffer)) throw new AimError("invalid_request");
      await parts.blobs.put(request.body, sha256);
      return reply.code(204).send();
    },
  );

  app.post(ROUTES.bundleCreate.path, { bodyLimit: JOB_BYTES_MAX }, async (request, reply) =>
    sendJson(
      reply.code(CREATED),
      await keepBundle(parts, whoAsks(request), check(BundleSchema, request.body)),
    ),
  );

  app.post(ROUTES.jobCreate.path, { bodyLimit: JOB_BYTES_MAX }, async (request, reply) =>
    sendJson(
      reply.code(CREATED),
      await jobs.accept(whoAsks(request), check(JobRequestSchema, request.body)),
    ),
  );

  app.get(ROUTES.jobList.path, async (request, reply) =>
    sendJson(reply, await jobs.list(whoAsks(request), queryOf(request.query))),
  );

  app.get(ROUTES.job.path, async (request, reply) =>
    sendJson(reply, await jobs.read(whoAsks(request), jobIdOf(request.params))),
  );

  app.post(ROUTES.jobCancel.path, async (request, reply) =>
    sendJson(reply, await jobs.cancel(whoAsks(request), jobIdOf(request.params))),
  );

  app.post(ROUTES.jobRetry.path, async (request, reply) => {
    const wish = {
      jobId: jobIdOf(request.params),
      request: check(RetryRequestSchema, request.body),
    };
    return sendJson(reply.code(CREATED), await jobs.retry(whoAsks(request), wish));
  });
}

function queryOf(query: unknown) {
  const { before = null, customer = null, limit, state = null } = query as Record<string, string>;
  if (before !== null && !isJobId(before)) throw new AimError("invalid_request", "/before");
  if (state !== null && !isState(state)) throw new AimError("invalid_request", "/state");
  const page = { usual: JOBS_PER_PAGE, most: JOBS_PER_PAGE_MAX };
  return { before, customer, state, limit: limitOf(limit, page) };
}

function isState(text: string): text is AttemptState {
  const states: readonly string[] = ATTEMPT_STATES;
  return states.includes(text);
}
