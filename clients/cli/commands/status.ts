// `aimctl status`: where a run stands, or the newest runs as a table.
import { isTerminal as isTerminalState, type RunStatus } from "@aim/contract";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { endingLines } from "../render/recap.ts";
import { painter, type Paint } from "../render/style.ts";
import { tableLines } from "../render/table.ts";
import { wholeSeconds } from "../render/time.ts";
import { wantsColor, type ColorChoice, type OutputFlags } from "../settings.ts";

export interface StatusFlags extends OutputFlags {
  readonly color: ColorChoice;
}

export async function status(runId: string | undefined, flags: StatusFlags): Promise<ExitCode> {
  const client = connect(flags);
  const found = runId === undefined ? await client.runs() : await client.status(runId);
  const paint = painter(wantsColor(flags.color, process.stdout));
  print(flags, found, () => ("run_id" in found ? statusLines(found, paint) : runTable(found)));
  return EXIT.ok;
}

function runTable(runs: readonly RunStatus[]): string[] {
  if (runs.length === 0) return ["No run yet. Begin with: aimctl run PLAYBOOK -i INVENTORY"];
  const rows = runs.map((run) => [
    run.run_id,
    run.state,
    wholeSeconds(run.created_at),
    String(run.hosts),
    run.title,
  ]);
  return tableLines(["RUN", "STATE", "CREATED", "HOSTS", "TITLE"], rows);
}

function statusLines(run: RunStatus, paint: Paint): string[] {
  const facts: (readonly [string, string | null])[] = [
    ["run", run.run_id],
    ["title", run.title],
    ["playbook", `${run.playbook} of ${run.customer}`],
    ["job type", run.job_type],
    ["state", run.state],
    ["created", run.created_at],
    ["started", run.started_at],
    ["ended", run.ended_at],
    ["cancel asked", run.cancel_requested_at],
  ];
  const lines = facts
    .filter((fact): fact is readonly [string, string] => fact[1] !== null)
    .map(([name, value]) => `${name.padEnd(12)} ${visible(value)}`);
  if (run.result !== null) {
    lines.push(...endingLines({ result: run.result, recaps: [], advice: [] }, paint));
  }
  if (!isTerminalState(run.state)) lines.push("", `Watch it: aimctl watch ${visible(run.run_id)}`);
  return lines;
}
