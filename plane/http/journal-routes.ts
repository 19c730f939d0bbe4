// The journal of a job: pages, a snapshot, a stream, and its end with the job. Translates; decides nothing.
import type { FastifyInstance } from "fastify";
import { AimError, JOURNAL_PAGE, JOURNAL_PAGE_MAX, ROUTES, type Principal } from "@aim/contract";
import { createJournals, type JournalParts } from "../core/journal.ts";
import { requireJob } from "../core/rights.ts";
import { whoAsks, whoAsksNow } from "./identity.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { jobIdOf } from "./job-routes.ts";
import type { JournalStreams } from "./journal-stream.ts";
import { sendJson } from "./reply.ts";

export interface JournalRouteParts extends JournalParts {
  readonly metrics: Metrics;
  readonly journalStreams: JournalStreams;
}

export function addJournalRoutes(app: FastifyInstance, parts: JournalRouteParts): void {
  const journals = createJournals(parts);

  app.get(ROUTES.journal.path, async (request, reply) => {
    const { after, limit } = request.query as { after?: string; limit?: string };
    const query = {
      jobId: jobIdOf(request.params),
      after: after === undefined ? null : cursorOf(after, "/after"),
      limit: limitOf(limit),
    };
    return sendJson(reply, await journals.page(whoAsks(request), query));
  });

  app.get(ROUTES.journalSnapshot.path, async (request, reply) =>
    sendJson(reply, await journals.snapshot(whoAsks(request), jobIdOf(request.params))),
  );

  app.get(ROUTES.journalStream.path, async (request, reply) => {
    const principal = whoAsks(request);
    const jobId = jobIdOf(request.params);
    const { after = "0" } = request.query as { after?: string };
    const seen = request.headers["last-event-id"];
    // What was really seen beats where the first connection began.
    const cursor =
      typeof seen === "string" ? cursorOf(seen, "/last-event-id") : cursorOf(after, "/after");
    const runId = await newestRun(parts, principal, jobId);
    const leave = parts.journalStreams.admit(principal);
    try {
      const { raw } = reply.hijack();
      raw.once("close", parts.metrics.streamOpened("sse"));
      const whoNow = whoAsksNow(request);
      await parts.journalStreams.serve({ whoNow, jobId, after: cursor, runId, raw });
    } finally {
      leave();
    }
  });

  app.delete(ROUTES.jobDelete.path, async (request, reply) => {
    await journals.remove(whoAsks(request), jobIdOf(request.params));
    return reply.code(204).send();
  });
}

async function newestRun(parts: JournalParts, who: Principal, jobId: string): Promise<string> {
  const found = await parts.store.readJob({ jobId });
  if (found === null) throw new AimError("not_found");
  requireJob(who, "job.read", found.job);
  return found.attempts.at(-1)?.id ?? "";
}

function cursorOf(text: string, at: string): number {
  const cursor = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(cursor)) throw new AimError("invalid_request", at);
  return cursor;
}

function limitOf(text: string | undefined): number {
  const limit = text === undefined ? JOURNAL_PAGE : Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > JOURNAL_PAGE_MAX) {
    throw new AimError("invalid_request", "/limit");
  }
  return limit;
}
