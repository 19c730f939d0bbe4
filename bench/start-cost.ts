// What it costs to start: one play with one task, from the call to the first event and to the end.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { writeCustomer } from "../tests/harness/catalog.ts";
import { startPlane, type TestPlane } from "../tests/harness/plane.ts";
import { measure, type Measured } from "./measure.ts";
import type { Place } from "./place.ts";
import { treeCpuMs } from "./processes.ts";
import { ratios, spread, told, type Spread } from "./statistics.ts";
import { bare, launcher, runner, writeWork } from "./variants.ts";

const ROUNDS = 9;
/** Until plane and runner have done what follows a run, so that its CPU time is counted with it. */
const SETTLE_MS = 700;

const VARIANTS = ["bare", "launcher", "product", "ansible-runner"] as const;
type Variant = (typeof VARIANTS)[number];
type Figures = Pick<Measured, "firstMs" | "wallMs" | "cpuMs"> & { readonly prepareMs?: number };

interface StartRow {
  readonly variant: Variant;
  readonly first_ms: Spread;
  readonly end_ms: Spread;
  readonly cpu_ms: Spread;
  readonly first_ratio: Spread;
  readonly end_ratio: Spread;
  readonly cpu_ratio: Spread;
  readonly prepare_ms: Spread | null;
}

const SITE = `- name: Work
  hosts: all
  gather_facts: false
  tasks:
    - name: Task number 1
      ansible.builtin.debug:
        msg: step 1
`;

async function runProduct(plane: TestPlane): Promise<Figures> {
  const pid = plane.process.pid ?? 0;
  const before = performance.now();
  const { request, revision } = await plane.client.prepare({
    customer: "acme",
    playbook: "site",
    hosts: ["host1"],
    progress_mode: "detail",
  });
  const prepareMs = performance.now() - before;
  await delay(SETTLE_MS);
  const cpu = treeCpuMs(pid);
  const start = performance.now();
  let firstMs: number | null = null;
  let wallMs = Number.NaN;
  for await (const line of plane.client.execute({ request, revision })) {
    if (line.type === "event") {
      if (line.event.kind === "play_started") firstMs ??= performance.now() - start;
      continue;
    }
    wallMs = performance.now() - start;
    const { state } = line.response;
    if (state !== "succeeded") throw new Error(`the product's run ended as ${state}`);
  }
  await delay(SETTLE_MS);
  return { firstMs, wallMs, cpuMs: treeCpuMs(pid) - cpu, prepareMs };
}

async function runOnce(place: Place, variant: Variant, plane: TestPlane): Promise<Figures> {
  const folder = join(place.home, "start");
  if (variant === "product") return runProduct(plane);
  if (variant === "bare") return measure(place.python, bare(place, folder, "read"));
  if (variant === "launcher") return measure(place.python, launcher(place, folder));
  const measured = await measure(place.python, runner(place, folder, "read"));
  rmSync(join(folder, "artifacts"), { recursive: true, force: true });
  return measured;
}

function rowsOf(runs: ReadonlyMap<Variant, Figures[]>): StartRow[] {
  const values = (variant: Variant, key: keyof Figures): number[] =>
    (runs.get(variant) ?? []).map((run) => run[key] ?? Number.NaN);
  return VARIANTS.map((variant) => ({
    variant,
    first_ms: spread(values(variant, "firstMs")),
    end_ms: spread(values(variant, "wallMs")),
    cpu_ms: spread(values(variant, "cpuMs")),
    first_ratio: ratios(values(variant, "firstMs"), values("bare", "firstMs")),
    end_ratio: ratios(values(variant, "wallMs"), values("bare", "wallMs")),
    cpu_ratio: ratios(values(variant, "cpuMs"), values("bare", "cpuMs")),
    prepare_ms: variant === "product" ? spread(values(variant, "prepareMs")) : null,
  }));
}

export async function startCost(place: Place): Promise<StartRow[]> {
  await using plane = await startPlane();
  writeCustomer(plane.catalogDir, {
    playbooks: { site: { playbook: "site.yml" } },
    files: { "inventory.ini": "host1 ansible_connection=local\n", "site.yml": SITE },
  });
  writeWork(place, { name: "start", hosts: 1, tasks: 1 });
  const runs = new Map<Variant, Figures[]>(VARIANTS.map((variant) => [variant, []]));
  // Round 0 warms the disk cache and is not counted.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const variant of VARIANTS) {
      const figures = await runOnce(place, variant, plane);
      if (round > 0) runs.get(variant)?.push(figures);
    }
  }
  return rowsOf(runs);
}

const TITLES: Readonly<Record<Variant, string>> = {
  bare: "`ansible-playbook`",
  launcher: "AIM's launcher alone",
  product: "AIM: execute call to the running plane, sandbox, stored events",
  "ansible-runner": "ansible-runner 2.4.3",
};

export function startTable(rows: readonly StartRow[]): string {
  const lines = rows.map((row) => {
    const cells = [
      TITLES[row.variant],
      told(row.first_ms, 0),
      told(row.first_ratio, 2),
      told(row.end_ms, 0),
      told(row.end_ratio, 2),
      told(row.cpu_ms, 0),
      told(row.cpu_ratio, 2),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const prepare = rows.find((row) => row.prepare_ms !== null)?.prepare_ms;
  return [
    "| variant | first event ms | ÷ bare | end ms | ÷ bare | CPU ms | ÷ bare |",
    "|---|---|---|---|---|---|---|",
    ...lines,
    "",
    `n = ${rows[0]?.end_ms.n ?? 0}.` +
      (prepare ? ` The review before it (\`prepare\`) took ${told(prepare, 0)} ms.` : ""),
  ].join("\n");
}
