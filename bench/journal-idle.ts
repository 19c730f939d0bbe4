// A plane with one job, alone in its process. Tells on stdout where it is and, when stdin ends, how many bytes became resident.
import { eventAt, openJournalPlane } from "../tests/journal/journal-plane.ts";

const STREAMS_MAX = 10_000;

await using plane = await openJournalPlane({ streams: { each: STREAMS_MAX, all: STREAMS_MAX } });
const job = await plane.startJob();
await plane.dispatcher.events(job.runId, {
  epoch: job.epoch,
  events: [eventAt(job.runId, 1)],
  lost: 0,
});
const before = process.memoryUsage().rss;
process.stdout.write(`${plane.url} ${job.jobId}\n`);
process.stdin.resume();
await new Promise((resolve) => process.stdin.once("end", resolve));
process.stdout.write(`${process.memoryUsage().rss - before}\n`);
