// `aimctl runners list|drain`.
import type { RunnerView } from "@aim/contract";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { tableLines } from "../render/table.ts";
import { wholeSeconds } from "../render/time.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";

export async function listRunners(flags: OutputFlags): Promise<ExitCode> {
  const client = connect(flags);
  const found = await client.runners();
  print(flags, found, table);
  return EXIT.ok;
}

export async function drainRunner(id: string, flags: GlobalFlags): Promise<ExitCode> {
  const client = connect(flags);
  await client.drainRunner(id);
  process.stdout.write(`${visible(id)} finishes what it holds and takes nothing more.\n`);
  return EXIT.ok;
}

function table(runners: readonly RunnerView[]): string[] {
  if (runners.length === 0) return ["No runner."];
  const rows = runners.map((runner) => [
    runner.runner_instance_id,
    runner.name,
    runner.state,
    `${runner.held}/${runner.slots}`,
    runner.ansible_core,
    runner.isolation,
    wholeSeconds(runner.seen_at),
  ]);
  return tableLines(["RUNNER", "NAME", "STATE", "HELD", "ANSIBLE", "ISOLATION", "SEEN"], rows);
}
