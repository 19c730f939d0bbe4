// `aimctl approvals list|show|approve` and `aimctl execution on|off`.
import type { RevisionView } from "@aim/contract";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { reviewLines } from "../render/review.ts";
import { painter } from "../render/style.ts";
import { tableLines } from "../render/table.ts";
import { wholeSeconds } from "../render/time.ts";
import { wantsColor, type ColorChoice, type GlobalFlags, type OutputFlags } from "../settings.ts";

export interface ShowApprovalFlags extends OutputFlags {
  readonly color: ColorChoice;
}

export async function listApprovals(flags: OutputFlags): Promise<ExitCode> {
  const found = await connect(flags).revisions(true);
  print(flags, found, table);
  return EXIT.ok;
}

function table(revisions: readonly RevisionView[]): string[] {
  if (revisions.length === 0) return ["Nothing waits for an approval."];
  const rows = revisions.map((one) => [
    one.revision,
    one.customer,
    one.playbook,
    one.review.destructive ? "yes" : "no",
    String(one.review.hosts.length),
    wholeSeconds(one.expires_at),
    one.prepared_by,
  ]);
  const headings = ["REVISION", "CUSTOMER", "PLAYBOOK", "DESTRUCTIVE", "HOSTS", "EXPIRES", "BY"];
  return tableLines(headings, rows);
}

export async function showApproval(revision: string, flags: ShowApprovalFlags): Promise<ExitCode> {
  const found = await connect(flags).revision(revision);
  const paint = painter(wantsColor(flags.color, process.stdout));
  const by = found.review.approval?.by ?? null;
  const state = by === null ? "Nobody has approved it." : `Approved by ${visible(by)}.`;
  print(flags, found, () => [...reviewLines(found, paint), state]);
  return EXIT.ok;
}

export async function approve(revision: string, flags: OutputFlags): Promise<ExitCode> {
  const found = await connect(flags).approve(revision);
  print(flags, found, () => [`${visible(revision)} is approved.`]);
  return EXIT.ok;
}

export async function switchExecution(enabled: boolean, flags: GlobalFlags): Promise<ExitCode> {
  const now = await connect(flags).setExecution(enabled);
  process.stdout.write(`Execution is ${now.enabled ? "on" : "off"}.\n`);
  return now.enabled === enabled ? EXIT.ok : EXIT.notPermitted;
}
