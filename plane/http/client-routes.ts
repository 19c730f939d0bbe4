// The routes that clients use. Translates; decides nothing.
import type { FastifyInstance } from "fastify";
import {
  AcceptanceSchema,
  AimError,
  AttemptIdSchema,
  canonicalJson,
  CredentialsSchema,
  isTerminal,
  OPERATION_BYTES_MAX,
  OPERATION_SCHEMAS,
  ProjectSchema,
  ROUTES,
  type Manifest,
  type OperationName,
} from "@aim/contract";
import { allowed } from "../audit/chain.ts";
import type { Core } from "../core/core.ts";
import type { CoreParts } from "../core/parts.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { check } from "./check.ts";
import { whoAsks, whoAsksNow } from "./identity.ts";
import { streamRun } from "./event-stream.ts";
import { afterOf, idIn } from "./params.ts";
import { IN_LINES, sendJson, sendResponse } from "./reply.ts";

export interface ClientRouteParts extends CoreParts {
  readonly core: Core;
  readonly metrics: Metrics;
}

const runIdOf = idIn("run_id", AttemptIdSchema);

export function addClientRoutes(app: FastifyInstance, parts: ClientRouteParts): void {
  const { core } = parts;

  const operations = { ...IN_LINES, bodyLimit: OPERATION_BYTES_MAX };
  app.post(ROUTES.operations.path, operations, async (request, reply) => {
    const body = request.body as Record<string, unknown>;
    if (body["api_version"] !== "1.0")
      throw new AimError("unsupported_api_version", "/api_version");
    const name = body["operation"];
    if (typeof name !== "string" || !Object.hasOwn(OPERATION_SCHEMAS, name)) {
      throw new AimError("unknown_operation", "/operation");
    }
    const operation = name as OperationName;
    const who = whoAsks(request);
    switch (operation) {
      case "capabilities":
        check(OPERATION_SCHEMAS.capabilities, body);
        return sendResponse(reply, await core.capabilities());
      case "prepare":
        return sendResponse(reply, await core.prepare(who, check(OPERATION_SCHEMAS.prepare, body)));
      case "execute": {
        const attempt = await core.execute(who, check(OPERATION_SCHEMAS.execute, body));
        reply.raw.setHeader("aim-run-id", attempt.id);
        return streamRun(parts, reply, {
          runId: attempt.id,
          after: 0,
          whoNow: whoAsksNow(request),
        });
      }
      case "status":
        return sendResponse(
          reply,
          await core.status(who, check(OPERATION_SCHEMAS.status, body).run_id),
        );
      case "cancel":
        return sendResponse(
          reply,
          await core.cancel(who, check(OPERATION_SCHEMAS.cancel, body).run_id),
        );
    }
  });

  app.get(ROUTES.runList.path, async (request, reply) =>
    sendJson(reply, await core.runs(whoAsks(request), 100)),
  );

  app.get(ROUTES.runEvents.path, IN_LINES, async (request, reply) => {
    const runId = runIdOf(request.params);
    const after = afterOf(request.query);
    await core.status(whoAsks(request), runId);
    return streamRun(parts, reply, {
      runId,
      after,
      whoNow: whoAsksNow(request),
    });
  });

  app.get(ROUTES.sealKey.path, async (_, reply) => sendJson(reply, parts.sealer.key));

  app.get(ROUTES.health.path, async (_, reply) => sendJson(reply, { ok: true }));
}

/** What a run left. */
export function addEvidenceRoutes(app: FastifyInstance, parts: ClientRouteParts): void {
  const { core } = parts;

  app.get(ROUTES.artifactList.path, async (request, reply) => {
    const runId = runIdOf(request.params);
    const status = await core.status(whoAsks(request), runId);
    const manifest = await parts.store.readManifest({ attemptId: runId });
    if (manifest === null || !isTerminal(status.state)) throw new AimError("not_found");
    return sendJson(reply, JSON.parse(manifest));
  });

  app.get(ROUTES.artifact.path, async (request, reply) => {
    const runId = runIdOf(request.params);
    const { sha256 = "" } = request.params as { sha256?: string };
    await core.status(whoAsks(request), runId);
    // Bytes are kept once for everybody: only what this run left is given out for it.
    const manifest = await parts.store.readManifest({ attemptId: runId });
    const { files = [] } = JSON.parse(manifest ?? "{}") as Partial<Manifest>;
    const listed = files.some((file) => file.sha256 === sha256);
    if (!listed || !(await parts.blobs.has(sha256))) throw new AimError("not_found");
    return reply
      .type("application/octet-stream")
      .header("content-disposition", "attachment")
      .header("x-content-type-options", "nosniff")
      .send(parts.blobs.stream(sha256));
  });

  app.get(ROUTES.seal.path, async (request, reply) => {
    const runId = runIdOf(request.params);
    await core.status(whoAsks(request), runId);
    const envelope = await parts.sealer.seal(runId);
    if (envelope === null) throw new AimError("not_found");
    return sendJson(reply, envelope);
  });
}

/** What is offered on a local socket only: it takes secrets, or paths of this machine. */
export function addLocalRoutes(app: FastifyInstance, parts: ClientRouteParts): void {
  const { core } = parts;

  app.post(ROUTES.credentials.path, async (request, reply) => {
    const credentials = check(CredentialsSchema, request.body);
    return sendJson(reply, { credentials_id: parts.credentials.put(credentials) });
  });

  app.post(ROUTES.project.path, async (request, reply) =>
    sendJson(
      reply,
      await core.registerProject(whoAsks(request), check(ProjectSchema, request.body)),
    ),
  );

  app.put(ROUTES.acceptance.path, async (request, reply) => {
    const acceptance = check(AcceptanceSchema, request.body);
    const now = parts.clock.now();
    await parts.store.saveAcceptance({
      ansibleCore: acceptance.ansible_core,
      callbackDigest: acceptance.callback_digest,
      customer: "",
      passed: acceptance.passed,
      now,
      audit: allowed(whoAsks(request), {
        action: "setting.write",
        customer: null,
        what: {},
        detail: { route: "acceptance", callback_digest: acceptance.callback_digest },
        now,
      }),
    });
    return sendJson(reply, JSON.parse(canonicalJson(acceptance)));
  });
}
