// `aimctl journal show|follow|export`: what a job's runs left in the retained journal.
import type { FileHandle } from "node:fs/promises";
import type { JournalMessage, JournalPage, JournalSnapshot } from "@aim/contract";
import type { Client } from "@aim/sdk";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { writeNewFile } from "../new-file.ts";
import { visible } from "../render/escape.ts";
import { coverageLines, gapLine, recordLine } from "../render/journal.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";

const EXPORT_PAGE = 500;

export interface JournalShowFlags extends OutputFlags {
  readonly after?: number;
  readonly limit: number;
}

export interface JournalFollowFlags extends GlobalFlags {
  readonly output: "text" | "ndjson";
  readonly after: number;
}

export async function showJournal(jobId: string, flags: JournalShowFlags): Promise<ExitCode> {
  const client = connect(flags);
  const { after, limit } = flags;
  const page = await client.journal(jobId, { after, limit });
  if (flags.output === "json") write(JSON.stringify(page));
  else
    write(
      [...coverageLines(await client.journalSnapshot(jobId)), "", ...pageLines(page)].join("\n"),
    );
  return EXIT.ok;
}

export async function followJournal(jobId: string, flags: JournalFollowFlags): Promise<ExitCode> {
  let exit: ExitCode = EXIT.ok;
  for await (const message of connect(flags).followJournal(jobId, { after: flags.after })) {
    if (message.name === "reset") exit = EXIT.notPermitted;
    if (flags.output === "ndjson") write(JSON.stringify({ type: message.name, ...message.data }));
    else for (const line of messageLines(message)) write(line);
  }
  return exit;
}

/** Everything that is retained, behind a first line that says what it covers. The file must be new. */
export async function exportJournal(
  jobId: string,
  path: string,
  flags: GlobalFlags,
): Promise<ExitCode> {
  const client = connect(flags);
  const snapshot = await client.journalSnapshot(jobId);
  const records = await writeNewFile(path, (file) => writeAll(client, snapshot, file));
  write(`${records} records of ${visible(jobId)} in ${visible(path)}`);
  return EXIT.ok;
}

async function writeAll(
  client: Client,
  { coverage, cursor, gaps, job_id: jobId }: JournalSnapshot,
  file: FileHandle,
): Promise<number> {
  await file.write(line({ type: "coverage", job_id: jobId, cursor, coverage, gaps }));
  let records = 0;
  for (let after = 0, more = true; more && after < cursor;) {
    const page = await client.journal(jobId, { after, limit: EXPORT_PAGE });
    // What came since the first line was written belongs to the next export.
    const covered = page.records.filter((record) => record.cursor <= cursor);
    const texts = [
      ...page.gaps.map((gap) => line({ type: "gap", ...gap })),
      ...covered.map((record) => line({ type: "record", ...record })),
    ];
    await file.write(texts.join(""));
    records += covered.length;
    ({ cursor: after, more } = page);
  }
  return records;
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

function messageLines(message: JournalMessage): string[] {
  if (message.name === "batch") return message.data.records.map(recordLine);
  if (message.name === "gap") return [gapLine(message.data)];
  if (message.name === "end") return [];
  return ["The journal may not be read any more, or is not the one that was read before."];
}

/** Holes and records in the order of their cursors. */
function pageLines({ gaps, records }: JournalPage): string[] {
  if (gaps.length + records.length === 0) return ["Nothing is recorded here."];
  return [
    ...gaps.map((gap) => ({ at: gap.from, text: gapLine(gap) })),
    ...records.map((record) => ({ at: record.cursor, text: recordLine(record) })),
  ]
    .toSorted((one, other) => one.at - other.at)
    .map(({ text }) => text);
}

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}
