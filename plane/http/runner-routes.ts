// The runner protocol. A runner writes only for its own (attempt, epoch); the dispatcher decides.
import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  AimError,
  BUNDLE_FILE_BYTES_MAX,
  ClaimRequestSchema,
  CompletionSchema,
  EpochSchema,
  EventBatchSchema,
  HeartbeatSchema,
  InspectionReportSchema,
  isTerminal,
  MoveSchema,
  RegisterSchema,
  ROUTES,
  Sha256Schema,
  UPLOAD_CHUNK_BYTES_MAX,
  type Registered,
} from "@aim/contract";
import { allowed } from "../audit/chain.ts";
import type { CoreParts } from "../core/parts.ts";
import type { Attempt, Job } from "../execution/attempt.ts";
import type { AttemptAndJob } from "../store/uses/read-attempts.ts";
import { check } from "./check.ts";
import { idIn } from "./params.ts";
import { sendResponse } from "./reply.ts";
import type { RunnerGuard } from "./runner-guard.ts";
import type { ArrivedChunk, Drafts } from "../store/drafts.ts";

const BATCH_BYTES_MAX = 8 * 1024 * 1024;
const COMPLETION_BYTES_MAX = 64 * 1024 * 1024;
const digestOf = idIn("sha256", Sha256Schema);

export interface RunnerRouteParts extends CoreParts {
  readonly drafts: Drafts;
}

export function addRunnerRoutes(
  app: FastifyInstance,
  parts: RunnerRouteParts,
  guard: RunnerGuard,
): void {
  const { dispatcher } = parts;
  guard.protect(app);
  addContentRoutes(app, parts);

  app.post(ROUTES.register.path, async (request, reply) => {
    const admitted = await guard.admit(request, check(RegisterSchema, request.body));
    const registered = await dispatcher.register(admitted.register, admitted.name);
    return sendResponse(reply, { ...registered, session: admitted.session } satisfies Registered);
  });

  app.post(ROUTES.claim.path, async (request, reply) => {
    const gone = new AbortController();
    reply.raw.on("close", () => gone.abort());
    const grant = await dispatcher.claim(check(ClaimRequestSchema, request.body), gone.signal);
    return grant === null ? reply.code(204).send() : sendResponse(reply, grant);
  });

  app.post(ROUTES.heartbeat.path, async (request, reply) => {
    const beat = check(HeartbeatSchema, request.body);
    return sendResponse(reply, await dispatcher.heartbeat(attemptIdOf(request.params), beat));
  });

  app.post(ROUTES.move.path, async (request, reply) => {
    const move = check(MoveSchema, request.body);
    return sendResponse(reply, await dispatcher.move(attemptIdOf(request.params), move));
  });

  app.post(ROUTES.events.path, { bodyLimit: BATCH_BYTES_MAX }, async (request, reply) => {
    const batch = check(EventBatchSchema, request.body);
    await dispatcher.events(attemptIdOf(request.params), batch);
    return sendResponse(reply, {});
  });

  app.post(ROUTES.take.path, async (request, reply) => {
    const attemptId = attemptIdOf(request.params);
    const { attempt, job } = await holds(parts, attemptId, check(EpochSchema, request.body).epoch);
    // Written before the secrets leave: nobody has them without it.
    await tellOfSecrets(parts, attempt, job);
    return sendResponse(reply, parts.credentials.take(attemptId));
  });

  app.put(ROUTES.upload.path, { bodyLimit: UPLOAD_CHUNK_BYTES_MAX }, async (request, reply) => {
    const chunk = chunkOf(request);
    const holder = async () => void (await holds(parts, chunk.attemptId, chunk.epoch));
    return sendResponse(reply, await parts.drafts.append(chunk, holder));
  });

  app.post(ROUTES.complete.path, { bodyLimit: COMPLETION_BYTES_MAX }, async (request, reply) => {
    const completion = check(CompletionSchema, request.body);
    const attempt = await dispatcher.complete(attemptIdOf(request.params), completion);
    return sendResponse(reply, { state: attempt.state });
  });
}

/** What runners read before and beside attempts: reviewed files, and questions about them. */
function addContentRoutes(app: FastifyInstance, parts: RunnerRouteParts): void {
  app.get(ROUTES.blob.path, async (request, reply) => {
    const sha256 = digestOf(request.params);
    if (!(await parts.blobs.has(sha256))) throw new AimError("not_found");
    return reply.type("application/octet-stream").send(parts.blobs.stream(sha256));
  });

  app.post(ROUTES.inspected.path, { bodyLimit: COMPLETION_BYTES_MAX }, async (request, reply) => {
    const { inspection_id = "" } = request.params as { inspection_id?: string };
    const report = check(InspectionReportSchema, request.body);
    const answered = {
      inspectionId: inspection_id,
      runner: report.runner_instance_id,
      answer: report.inspection,
    };
    if (!parts.inspections.settle(answered)) {
      throw new AimError("not_found");
    }
    return sendResponse(reply, {});
  });
}

/** Secrets and bytes are for the holder of a live lease only. */
async function holds(parts: CoreParts, attemptId: string, epoch: number): Promise<AttemptAndJob> {
  const found = await parts.store.readAttempt({ attemptId });
  if (found === null) throw new AimError("not_found");
  const { attempt } = found;
  if (attempt.epoch !== epoch) throw new AimError("epoch_stale");
  const over = attempt.leaseExpires === null || parts.clock.now() >= attempt.leaseExpires;
  if (isTerminal(attempt.state) || over) throw new AimError("lease_lost");
  return found;
}

async function tellOfSecrets(parts: CoreParts, attempt: Attempt, job: Job): Promise<void> {
  const slots = Object.keys(job.spec.secrets).toSorted();
  if (slots.length === 0) return;
  const runner = attempt.runner ?? "";
  const entry = allowed(
    { kind: "runner", id: runner, name: runner },
    {
      action: "runner.work",
      customer: job.customer,
      what: { job_id: job.id, run_id: attempt.id },
      detail: { route: "take", slots },
      now: parts.clock.now(),
    },
  );
  await parts.store.recordAudit({ entry });
}

function attemptIdOf(params: unknown): string {
  const { run_id = "" } = params as { run_id?: string };
  return run_id;
}

function chunkOf(request: FastifyRequest): ArrivedChunk {
  const sha256 = digestOf(request.params);
  if (!Buffer.isBuffer(request.body)) throw new AimError("invalid_request");
  return {
    attemptId: attemptIdOf(request.params),
    epoch: Number(request.headers["aim-epoch"]),
    sha256,
    bytes: request.body,
    ...placeOf(request.headers["content-range"], request.body.length),
  };
}

// `bytes A-B/TOTAL` for exactly these many bytes, or `bytes */0` for an artifact without any.
function placeOf(range: string | undefined, length: number): { from: number; total: number } {
  const pattern = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15})$/;
  const [, first = "0", last = "-1", whole = ""] = pattern.exec(range ?? "") ?? [];
  const [from, end] = [Number(first), Number(last)];
  const total = whole === "" ? Number.NaN : Number(whole);
  if (total > BUNDLE_FILE_BYTES_MAX) throw new AimError("request_too_large");
  const fits = end - from + 1 === length && end < total && (length > 0 || total === 0);
  if (!fits) throw new AimError("invalid_request", "/content-range");
  return { from, total };
}
