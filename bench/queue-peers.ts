// The peers of the claims benchmark, each with its own runner or calls, a task that does nothing and its usual settings.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { PgBoss } from "pg-boss";
import {
  connectPostgres,
  type PostgresConnection,
} from "../plane/store/dialects/postgres/dialect.ts";
import { fail } from "./queue-store.ts";

const LOOK_EVERY_MS = 5;
const JOBS_PER_INSERT = 1_000;

export interface Timed {
  readonly jobs: number;
  /** From the first job handed out to the last one acknowledged. */
  readonly seconds: number;
}

export interface PeerWork {
  readonly url: string;
  readonly jobs: number;
  readonly width: number;
  /** Jobs that one statement may take; 1 is one job at a time. */
  readonly batch: number;
  /** Brings the filled database into the state of one that has run for a while. */
  readonly settle: (url: string) => Promise<void>;
}

/** Its runner with its LISTEN, one connection for each concurrent job and two more, as its manual says. */
export async function graphileWorker(work: PeerWork): Promise<Timed> {
  const { url, jobs, width, batch } = work;
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  const specs = Array.from({ length: jobs }, (_, index) => ({
    identifier: "work",
    payload: { index },
  }));
  for (let from = 0; from < jobs; from += JOBS_PER_INSERT) {
    await utils.addJobs(specs.slice(from, from + JOBS_PER_INSERT));
  }
  await utils.release();
  await work.settle(url);
  const { pool } = connectPostgres(url, fail);
  const seen = new Set<unknown>();
  let start = Number.NaN;
  const runner = await run({
    noHandleSignals: true,
    logger,
    preset: {
      worker: {
        connectionString: url,
        concurrentJobs: width,
        maxPoolSize: width + 2,
        ...(batch === 1 ? {} : { localQueue: { size: batch }, completeJobBatchDelay: 0 }),
      },
    },
    taskList: {
      work: (payload) => {
        if (seen.size === 0) start = performance.now();
        seen.add((payload as { index: number }).index);
        return undefined;
      },
    },
  });
  // A completed job is deleted: its commit is what counts, not the event that tells of it.
  await emptied(pool, "SELECT 1 FROM graphile_worker._private_jobs LIMIT 1");
  const seconds = (performance.now() - start) / 1000;
  await runner.stop();
  await pool.end();
  if (seen.size !== jobs) throw new Error(`graphile-worker handed out ${seen.size} of ${jobs}`);
  return { jobs, seconds };
}

/** Fetch and complete in a loop: its own polling worker takes a batch each half second at most. */
export async function pgBoss(work: PeerWork): Promise<Timed> {
  const { url, jobs, width, batch } = work;
  const boss = new PgBoss({ connectionString: url, max: width + 2, supervise: false });
  await boss.start();
  await boss.createQueue("work");
  const specs = Array.from({ length: jobs }, (_, index) => ({ data: { index } }));
  for (let from = 0; from < jobs; from += JOBS_PER_INSERT) {
    await boss.insert("work", specs.slice(from, from + JOBS_PER_INSERT));
  }
  await work.settle(url);
  const seen = new Set<string>();
  const start = performance.now();
  const worker = async (): Promise<void> => {
    for (;;) {
      const taken = await boss.fetch("work", { batchSize: batch });
      if (taken.length === 0) return;
      const ids = taken.map(({ id }) => id);
      for (const id of ids) seen.add(id);
      await boss.complete("work", ids);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  const seconds = (performance.now() - start) / 1000;
  await boss.stop({ graceful: false });
  if (seen.size !== jobs) throw new Error(`pg-boss handed out ${seen.size} of ${jobs}`);
  return { jobs, seconds };
}

/** Looks until the query finds nothing. */
async function emptied(pool: PostgresConnection["pool"], query: string): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query(query);
    if (rowCount === 0) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
