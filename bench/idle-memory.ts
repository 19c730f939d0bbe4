// Resident memory of plane and runner: idle, and while one attempt is under way.
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { startRun } from "../tests/harness/background.ts";
import { writeCustomer } from "../tests/harness/catalog.ts";
import { startPlane, until } from "../tests/harness/plane.ts";
import { commandOf, descendantsOf } from "../tests/harness/processes.ts";
import { spread, told, type Spread } from "./statistics.ts";

const ROUNDS = 3;
const SETTLE_MS = 2_000;
const RUN_S = 6;

const SITE = `- name: Work
  hosts: all
  gather_facts: false
  tasks:
    - name: Stay for a while
      ansible.builtin.command: sleep ${RUN_S}
`;

interface MemoryRow {
  readonly what: string;
  readonly idle_mb: Spread;
  readonly busy_mb: Spread;
}

/** Resident memory in MB. Pages that processes share count for each of them. */
function residentMb(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, "latin1");
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]) * 1024) / 1e6;
}

const isRunner = (pid: number): boolean => commandOf(pid).includes("runner/main.ts");

async function once() {
  await using plane = await startPlane();
  writeCustomer(plane.catalogDir, {
    playbooks: { site: { playbook: "site.yml" } },
    files: { "inventory.ini": "one ansible_connection=local\n", "site.yml": SITE },
  });
  const planePid = plane.process.pid ?? 0;
  const runnerPid = descendantsOf(planePid).find(isRunner) ?? 0;
  const look = () => ({ plane: residentMb(planePid), runner: residentMb(runnerPid) });
  await delay(SETTLE_MS);
  const idle = look();
  const run = await startRun(plane, { customer: "acme", playbook: "site", hosts: ["one"] });
  await until(30_000, () => run.events.some(({ kind }) => kind === "task_started"));
  await delay(SETTLE_MS);
  const tool = descendantsOf(runnerPid).map(residentMb);
  const busy = { ...look(), tool: tool.reduce((sum, one) => sum + one, 0) };
  const { state } = await run.result;
  if (state !== "succeeded") throw new Error(`the run ended as ${state}`);
  return { idle, busy };
}

export async function idleMemory(): Promise<MemoryRow[]> {
  const taken: Awaited<ReturnType<typeof once>>[] = [];
  for (let round = 0; round < ROUNDS; round += 1) taken.push(await once());
  const part = (what: string, key: "plane" | "runner"): MemoryRow => ({
    what,
    idle_mb: spread(taken.map(({ idle }) => idle[key])),
    busy_mb: spread(taken.map(({ busy }) => busy[key])),
  });
  return [
    part("plane, `aimd`", "plane"),
    part("runner, `aim-runner`", "runner"),
    {
      what: "everything in the sandbox: bubblewrap, init, Ansible and its forks",
      idle_mb: spread(taken.map(() => 0)),
      busy_mb: spread(taken.map(({ busy }) => busy.tool)),
    },
  ];
}

export function memoryTable(rows: readonly MemoryRow[]): string {
  const lines = rows.map(({ what, idle_mb: idle, busy_mb: busy }) => {
    return `| ${what} | ${told(idle, 0)} | ${told(busy, 0)} |`;
  });
  return [
    "| process | idle MB | MB during one attempt |",
    "|---|---|---|",
    ...lines,
    "",
    `n = ${rows[0]?.idle_mb.n ?? 0}.`,
  ].join("\n");
}
