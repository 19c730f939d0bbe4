// `aimctl approvals list|show|approve` and `aimctl execution on|off`.
import type { RevisionView } from "@aim/contract";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { visible } from "../render/escape.ts";
import { reviewLines } from "../render/review.ts";
import { painter } from "../render/style.ts";
import { tableLines } from "../render/table.ts";
import { wantsColor, type ColorChoice, type GlobalFlags } from "../settings.ts";
import type { OutputFlags } from "./login.ts";

export interface ShowApprovalFlags extends OutputFlags {
  readonly color: ColorChoice;
}

export async function listApprovals(flags: OutputFlags): Promise<ExitCode> {
  const found = await connect(flags).revisions(true);
  const text = flags.output === "json" ? JSON.stringify(found) : table(found).join("\n");
  process.stdout.write(`${text}\n`);
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
    one.expires_at.replace(/\.\d+Z$/, "Z"),
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
  const lines = [...reviewLines(found, paint), state];
  process.stdout.write(`${flags.output === "json" ? JSON.stringify(found) : lines.join("\n")}\n`);
  return EXIT.ok;
}

export async function approve(revision: string, flags: OutputFlags): Promise<ExitCode> {
  const found = await connect(flags).approve(revision);
  const text =
    flags.output === "json" ? JSON.stringify(found) : `${visible(revision)} is approved.`;
  process.stdout.write(`${text}\n`);
  return EXIT.ok;
}

export async function switchExecution(enabled: boolean, flags: GlobalFlags): Promise<ExitCode> {
  const now = await connect(flags).setExecution(enabled);
  process.stdout.write(`Execution is ${now.enabled ? "on" : "off"}.\n`);
  return now.enabled === enabled ? EXIT.ok : EXIT.notPermitted;
}
