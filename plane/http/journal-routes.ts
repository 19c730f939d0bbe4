// The journal of a job: pages, a snapshot, a stream, and its end with the job. Translates; decides nothing.
import type { FastifyInstance } from "fastify";
import { JOURNAL_PAGE, JOURNAL_PAGE_MAX, ROUTES } from "@aim/contract";
import { createJournals, type JournalParts } from "../core/journal.ts";
import { findJob } from "../core/rights.ts";
import { whoAsks, whoAsksNow } from "./identity.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { jobIdOf } from "./job-routes.ts";
import type { JournalStreams } from "./journal-stream.ts";
import { afterOf, limitOf, positionOf } from "./params.ts";
import { sendJson } from "./reply.ts";

const PAGE = { usual: JOURNAL_PAGE, most: JOURNAL_PAGE_MAX };

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
      after: after === undefined ? null : positionOf(after, "/after"),
      limit: limitOf(limit, PAGE),
    };
    return sendJson(reply, await journals.page(whoAsks(request), query));
  });

  app.get(ROUTES.journalSnapshot.path, async (request, reply) =>
    sendJson(reply, await journals.snapshot(whoAsks(request), jobIdOf(request.params))),
  );

  app.get(ROUTES.journalStream.path, async (request, reply) => {
    const principal = whoAsks(request);
    const jobId = jobIdOf(request.params);
    const seen = request.headers["last-event-id"];
    // What was really seen beats where the first connection began.
    const cursor =
      typeof seen === "string" ? positionOf(seen, "/last-event-id") : afterOf(request.query);
    const sought = { who: principal, action: "job.read", jobId } as const;
    const { attempts } = await findJob(parts.store, sought);
    const runId = attempts.at(-1)?.id ?? "";
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
