// What it costs to have a run told: our launcher, ARA and ansible-runner beside ansible-playbook with its own output.
import { rmSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { measure, type Measured } from "./measure.ts";
import type { Place } from "./place.ts";
import { ratios, spread, told, type Spread } from "./statistics.ts";
import { ara, bare, launcher, runner, writeWork, type Work } from "./variants.ts";

const WORKS: readonly (Work & { readonly rounds: number })[] = [
  { name: "1 host × 100 tasks", hosts: 1, tasks: 100, rounds: 7 },
  { name: "1 host × 500 tasks", hosts: 1, tasks: 500, rounds: 7 },
  { name: "50 hosts × 20 tasks", hosts: 50, tasks: 20, rounds: 7 },
];
const VARIANTS = ["bare", "aim", "ansible-runner", "ara"] as const;
type Variant = (typeof VARIANTS)[number];

/** The others take longer and stand far off: they need fewer rounds to be told from bare. */
const ROUNDS_MOST: Partial<Record<Variant, number>> = { "ansible-runner": 3, ara: 1 };

interface CallbackRow {
  readonly work: string;
  readonly variant: Variant;
  readonly wall_ms: Spread;
  readonly cpu_ms: Spread;
  readonly wall_ratio: Spread;
  readonly cpu_ratio: Spread;
  /** CPU time of the process that reads and projects the frames; part of no ratio. */
  readonly reader_ms: Spread | null;
  /** One-minute load of the machine when each run ended, the run's own included. */
  readonly load: Spread;
}

type Run = Measured & { readonly load: number };

async function runOnce(place: Place, variant: Variant, folder: string): Promise<Measured> {
  if (variant === "aim") {
    const command = launcher(place, folder);
    const measured = await measure(place.python, command);
    command.check();
    return measured;
  }
  if (variant === "bare") return measure(place.python, bare(place, folder, "null"));
  if (variant === "ara") return measure(place.python, ara(place, folder));
  const measured = await measure(place.python, runner(place, folder, "null"));
  rmSync(join(folder, "artifacts"), { recursive: true, force: true });
  return measured;
}

function rowsOf(work: string, runs: ReadonlyMap<Variant, Run[]>): CallbackRow[] {
  const values = (variant: Variant, key: "wallMs" | "cpuMs" | "readerMs" | "load"): number[] =>
    (runs.get(variant) ?? []).map((run) => run[key]);
  return VARIANTS.map((variant) => ({
    work,
    variant,
    wall_ms: spread(values(variant, "wallMs")),
    cpu_ms: spread(values(variant, "cpuMs")),
    wall_ratio: ratios(values(variant, "wallMs"), values("bare", "wallMs")),
    cpu_ratio: ratios(values(variant, "cpuMs"), values("bare", "cpuMs")),
    reader_ms: variant === "aim" ? spread(values(variant, "readerMs")) : null,
    load: spread(values(variant, "load")),
  }));
}

/** Every round begins with another variant, so that none always follows the same one. */
function rotated(round: number): Variant[] {
  const from = round % VARIANTS.length;
  return [...VARIANTS.slice(from), ...VARIANTS.slice(0, from)];
}

async function runWork(
  place: Place,
  work: (typeof WORKS)[number],
  folder: string,
): Promise<Map<Variant, Run[]>> {
  const runs = new Map<Variant, Run[]>(VARIANTS.map((variant) => [variant, []]));
  for (let round = 0; round < work.rounds; round += 1) {
    for (const variant of rotated(round)) {
      if (round >= (ROUNDS_MOST[variant] ?? work.rounds)) continue;
      const measured = await runOnce(place, variant, folder);
      runs.get(variant)?.push({ ...measured, load: loadavg()[0] ?? Number.NaN });
      const figures = `${measured.wallMs.toFixed(0)} ms, CPU ${measured.cpuMs.toFixed(0)} ms`;
      console.error(`bench: ${work.name}, round ${round + 1}, ${variant}: ${figures}`);
    }
  }
  return runs;
}

export async function callbackCost(place: Place): Promise<CallbackRow[]> {
  const warmUp = writeWork(place, { name: "warm-up", hosts: 1, tasks: 1 });
  // The first run of each reads its files from disk, and ARA makes its database.
  for (const variant of VARIANTS) await runOnce(place, variant, warmUp);
  const rows: CallbackRow[] = [];
  for (const [index, work] of WORKS.entries()) {
    const folder = writeWork(place, { ...work, name: `work-${index}` });
    rows.push(...rowsOf(work.name, await runWork(place, work, folder)));
  }
  return rows;
}

const TITLES: Readonly<Record<Variant, string>> = {
  bare: "`ansible-playbook`, default output",
  aim: "AIM's launcher, frames read and projected",
  "ansible-runner": "ansible-runner 2.4.3",
  ara: "ARA 1.8.0, offline SQLite",
};

export function callbackTable(rows: readonly CallbackRow[]): string {
  const lines = rows.map((row) => {
    const cells = [
      row.work,
      TITLES[row.variant],
      String(row.wall_ms.n),
      told(row.wall_ms, 0),
      told(row.wall_ratio, 2),
      told(row.cpu_ms, 0),
      told(row.cpu_ratio, 2),
      row.reader_ms === null ? "" : told(row.reader_ms, 0),
      told(row.load, 1),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| work | variant | n | wall ms | wall ÷ bare | CPU ms | CPU ÷ bare | reader's CPU ms | load |",
    "|---|---|---|---|---|---|---|---|---|",
    ...lines,
    "",
    ...verdicts(rows),
  ].join("\n");
}

/** Whether the target holds: no more than bare, less than ansible-runner, in wall and CPU time, by medians. */
function verdicts(rows: readonly CallbackRow[]): string[] {
  const works = [...new Set(rows.map(({ work }) => work))];
  return works.flatMap((work) => {
    const of = (variant: Variant) =>
      rows.find((row) => row.work === work && row.variant === variant);
    const [own, peer] = [of("aim"), of("ansible-runner")];
    if (own === undefined || peer === undefined) return [];
    return (["wall_ratio", "cpu_ratio"] as const).map((key) => {
      const what = key === "wall_ratio" ? "wall" : "CPU";
      const holds = own[key].median <= 1 && own[key].median < peer[key].median;
      const figures = `${own[key].median.toFixed(3)} × bare, ansible-runner ${peer[key].median.toFixed(3)} × bare`;
      return `- Target, ${work}, ${what}: ${holds ? "holds" : "does not hold"} (${figures}).`;
    });
  });
}
