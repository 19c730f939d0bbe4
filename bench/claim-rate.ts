// How many jobs a second a queue hands to workers, each once and durably, and takes back as done.
import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { startPostgres, type TestPostgres } from "../tests/harness/postgres.ts";
import { graphileWorker, pgBoss, type PeerWork, type Timed } from "./queue-peers.ts";
import { connectPostgres } from "../plane/store/dialects/postgres/dialect.ts";
import { accept, drainQueue, fail, inParallel, openQueue, type Way } from "./queue-store.ts";
import { ratios, spread, told, type Spread } from "./statistics.ts";

const ROUNDS = 3;
const JOBS = 4_000;
/** Workers at a time: two runners of four slots, and eight of them. */
const WIDTHS = [8, 32] as const;
const BATCH = 32;
/** The share of graphile-worker's rate that AIM wants to reach at least. */
const TARGET = 1.3;

const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0xef53: "ext4",
  0x01021994: "tmpfs",
  0x58465342: "XFS",
  0x9123683e: "Btrfs",
};

interface Variant {
  readonly title: string;
  readonly width: number;
  readonly database: "PostgreSQL" | "SQLite";
  readonly does: string;
  readonly take: (postgres: TestPostgres) => Promise<Timed>;
}

type Taking = Pick<Variant, "database" | "take" | "width">;

const own = (way: Way, database: Variant["database"], width: number): Taking => ({
  database,
  width,
  take: async (postgres) => {
    const url = database === "SQLite" ? null : postgres.createDatabase();
    const queue = await openQueue(url);
    try {
      await inParallel(JOBS, 8, () => accept(queue.store));
      if (url !== null) await settle(url);
      const start = performance.now();
      const jobs = await drainQueue(queue, width, way);
      if (jobs !== JOBS) throw new Error(`handed out ${jobs} of ${JOBS}`);
      return { jobs, seconds: (performance.now() - start) / 1000 };
    } finally {
      await queue.close();
    }
  },
});

interface PeerShape {
  readonly width: number;
  readonly batch: number;
}

const peer = (take: (work: PeerWork) => Promise<Timed>, { width, batch }: PeerShape): Taking => ({
  database: "PostgreSQL",
  width,
  take: (postgres) => take({ url: postgres.createDatabase(), jobs: JOBS, width, batch, settle }),
});

const DOES = {
  claim: "claim only: a committed lease with job and file list",
  end: "claim, then the end with result, event, manifest and usage",
  life: "claim, three moves, then the end as above",
} as const satisfies Record<Way, string>;

/** The peer that the target names. */
const BASE = "graphile-worker 0.18.0";

const VARIANTS: readonly Variant[] = WIDTHS.flatMap((width) => [
  { title: BASE, does: "one job at a time", ...peer(graphileWorker, { width, batch: 1 }) },
  {
    title: `${BASE}, local queue`,
    does: `${BATCH} jobs a statement, completions batched`,
    ...peer(graphileWorker, { width, batch: BATCH }),
  },
  {
    title: "pg-boss 12.38.0",
    does: "fetch and complete one job",
    ...peer(pgBoss, { width, batch: 1 }),
  },
  ...(["PostgreSQL", "SQLite"] as const).flatMap((database) =>
    (["claim", "end", "life"] as const).map((way) => ({
      title: "AIM",
      does: DOES[way],
      ...own(way, database, width),
    })),
  ),
]);

interface ClaimRow {
  readonly title: string;
  readonly database: string;
  readonly workers: number;
  readonly does: string;
  readonly jobs_per_s: Spread;
  /** To graphile-worker, one job at a time, as many workers, in the same round. */
  readonly ratio: Spread;
}

export interface ClaimRate {
  readonly jobs: number;
  readonly file_system: string;
  readonly rows: readonly ClaimRow[];
}

export async function claimRate(): Promise<ClaimRate> {
  await using postgres = await startPostgres();
  const rates = VARIANTS.map((): number[] => []);
  // Round 0 warms the caches and is not counted.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [index, variant] of VARIANTS.entries()) {
      const { jobs, seconds } = await variant.take(postgres);
      if (round > 0) rates[index]?.push(jobs / seconds);
    }
  }
  const baseOf = (width: number): number[] => {
    const index = VARIANTS.findIndex((one) => one.title === BASE && one.width === width);
    return rates[index] ?? [];
  };
  return {
    jobs: JOBS,
    file_system: FILE_SYSTEMS[statfsSync(tmpdir()).type] ?? "an unknown file system",
    rows: VARIANTS.map(({ title, database, does, width }, index) => ({
      title,
      database,
      workers: width,
      does,
      jobs_per_s: spread(rates[index] ?? []),
      ratio: ratios(rates[index] ?? [], baseOf(width)),
    })),
  };
}

/** As in a database that has run for a while: statistics are there, dead rows are not. */
async function settle(url: string): Promise<void> {
  const { pool } = connectPostgres(url, fail);
  await pool.query("VACUUM ANALYZE");
  await pool.end();
}

export function claimTable({ jobs, file_system: files, rows }: ClaimRate): string {
  const lines = rows.map((row) => {
    const cells = [
      row.title,
      row.database,
      row.workers,
      row.does,
      told(row.jobs_per_s, 0),
      told(row.ratio, 2),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const verdicts = rows
    .filter(({ title, database }) => title === "AIM" && database === "PostgreSQL")
    .map(({ does, ratio, workers }) => {
      const holds = ratio.median >= TARGET ? "holds" : "does not hold";
      return `- Target, ${workers} workers, ${does}: ${holds} (${ratio.median.toFixed(2)} × graphile-worker).`;
    });
  return [
    "| queue | database | workers | a job is | jobs a second | ÷ graphile-worker |",
    "|---|---|---|---|---|---|",
    ...lines,
    "",
    `n = ${rows[0]?.jobs_per_s.n ?? 0}, ${jobs} jobs each; both databases on ${files}.`,
    "",
    ...verdicts,
  ].join("\n");
}
