// `aimctl audit`: shows the audit, takes it away as a file, and verifies such a file without a plane.
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { canonicalJson, type AuditHead, type AuditRow } from "@aim/contract";
import {
  AUDIT_FAULTS,
  auditLine,
  isClientError,
  isSealKey,
  readLines,
  verifyAudit,
  type AuditReport,
  type Client,
} from "@aim/sdk";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { writeNewFile } from "../new-file.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { tableLines } from "../render/table.ts";
import type { OutputFlags } from "../settings.ts";

export interface ShowFlags extends OutputFlags {
  readonly after?: number;
  readonly limit: number;
}

export interface AuditVerifyFlags extends OutputFlags {
  readonly key?: string;
  readonly head?: string;
}

export async function showAudit(flags: ShowFlags): Promise<ExitCode> {
  const client = connect(flags);
  const after = flags.after ?? Math.max(0, (await headOf(client)).head.position - flags.limit);
  const rows = (await client.audit(after)).slice(0, flags.limit);
  print(flags, rows, table);
  return EXIT.ok;
}

function table(rows: readonly AuditRow[]): string[] {
  if (rows.length === 0) return ["No row."];
  const cells = rows.map((row) => [
    String(row.position),
    row.at,
    row.principal === null ? "-" : `${row.principal.kind} ${row.principal.name}`,
    row.action,
    row.outcome,
    row.customer ?? "-",
    Object.values(row.what).join(" "),
    Object.entries(row.detail)
      .map(
        ([name, fact]) =>
          `${name}=${typeof fact === "object" ? JSON.stringify(fact) : String(fact)}`,
      )
      .join(" "),
  ]);
  return tableLines(
    ["POSITION", "AT", "WHO", "ACTION", "OUTCOME", "CUSTOMER", "WHAT", "DETAIL"],
    cells,
  );
}

export async function exportAudit(path: string, flags: AuditVerifyFlags): Promise<ExitCode> {
  const client = connect(flags);
  const { head, text } = await headOf(client);
  await writeNewFile(path, async (file) => {
    for await (const line of rowsUpTo(client, head.position)) await file.appendFile(`${line}\n`);
    await writeNewFile(headPlace(path), (beside) => beside.appendFile(`${text}\n`));
  });
  return verifyFile(path, flags);
}

async function headOf(client: Client): Promise<{ head: AuditHead; text: string }> {
  const sealed = await client.auditHead();
  const head = JSON.parse(Buffer.from(sealed.payload, "base64").toString()) as AuditHead;
  return { head, text: canonicalJson(sealed) };
}

/** The lines of all rows up to the one that the head names; later ones are for the next export. */
async function* rowsUpTo(client: Client, last: number): AsyncGenerator<string, void, undefined> {
  let after = 0;
  while (after < last) {
    const page = await client.audit(after);
    for (const row of page) if (row.position <= last) yield auditLine(row);
    const next = page.at(-1)?.position ?? last;
    // A plane that does not go on is not asked for ever; the verification says what is missing.
    if (next <= after) return;
    after = next;
  }
}

const headPlace = (path: string): string => `${path}.head`;

export async function verifyFile(path: string, flags: AuditVerifyFlags): Promise<ExitCode> {
  const head = await headText(path, flags.head);
  const pem = flags.key === undefined ? null : await readText(flags.key);
  if (pem !== null && !(await isSealKey(pem))) {
    throw new CliFault(EXIT.usage, `${visible(flags.key ?? "")} is no Ed25519 public key in PEM.`);
  }
  if ((await stat(path).catch(() => null))?.isFile() !== true) throw unreadable(path);
  const lines = readLines(createReadStream(path));
  const report = await verifyAudit(lines, {
    ...(head === null ? {} : { head }),
    ...(pem === null ? {} : { pem }),
  }).catch((error: unknown) => {
    if (!isClientError(error)) throw error;
    throw new CliFault(EXIT.other, `${visible(path)} is cut, or holds what is no line of text.`);
  });
  print(flags, { whole: report.finding === null, ...report }, linesOf);
  return report.finding === null ? EXIT.ok : EXIT.other;
}

async function headText(path: string, given: string | undefined): Promise<string | null> {
  if (given !== undefined) return readText(given);
  return readFile(headPlace(path), "utf8").catch(() => null);
}

async function readText(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => {
    throw unreadable(path);
  });
}

function unreadable(path: string): CliFault {
  return new CliFault(EXIT.usage, `${visible(path)} cannot be read.`);
}

function linesOf({ finding, head, rows, vouched }: AuditReport): string[] {
  if (finding !== null) {
    const place = finding.position === null ? "head" : `row ${finding.position}`;
    return [`${finding.code}  ${place}  ${AUDIT_FAULTS[finding.code]}`];
  }
  const lines = [`The audit is whole: ${rows} rows.`];
  if (head === null)
    lines.push("No head was given: whether rows are missing at its end is not known.");
  else if (!vouched)
    lines.push("The head's signature was not checked: name the key you trust with --key.");
  return lines;
}
