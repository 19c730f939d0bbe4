// `aimctl request`: one operation in, its JSON lines out, both unchanged. For programs.
import {
  AimError,
  isProblemCode,
  OPERATION_BYTES_MAX,
  PROBLEMS,
  type Problem,
  type RunResult,
  type WireLine,
} from "@aim/contract";
import { isAimError, isClientError, type Client } from "@aim/sdk";
import { connect } from "../connection.ts";
import {
  EXIT,
  exitOfClientFault,
  exitOfProblem,
  exitOfResult,
  type ExitCode,
} from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { readCredentialsDescriptor, requirePrivateDescriptor } from "../run/credentials.ts";
import { onInterrupt } from "../run/interrupt.ts";
import type { GlobalFlags } from "../settings.ts";

export interface RequestFlags extends GlobalFlags {
  readonly credentialsFd?: string;
}

export async function request(flags: RequestFlags): Promise<ExitCode> {
  try {
    const descriptor =
      flags.credentialsFd === undefined ? null : requirePrivateDescriptor(flags.credentialsFd);
    const input = parseInput(await readInput(process.stdin));
    if (descriptor !== null && input.operation !== "execute") {
      throw new CliFault(EXIT.usage, "--credentials-fd goes with the operation execute alone.");
    }
    const client = connect(flags);
    const line =
      descriptor === null ? input.line : await withCredentials(client, input.line, descriptor);
    return await relay(client, line, input.operation === "execute");
  } catch (error) {
    if (!isAimError(error)) throw error;
    writeLine(JSON.stringify({ type: "error", error: error.toProblem() }));
    return exitOfProblem(error);
  }
}

/** Passes the answer on line by line. A line goes out as it came in, so nothing is lost in between. */
async function relay(client: Client, line: string, isExecute: boolean): Promise<ExitCode> {
  const reading = new AbortController();
  const interrupt = onInterrupt(() => reading.abort());
  let answered = false;
  try {
    let last: WireLine | undefined;
    for await (const read of client.raw(line, { signal: reading.signal })) {
      answered = true;
      writeLine(read.text);
      last = read.line;
    }
    return exitOfLine(last, isExecute);
  } catch (error) {
    if (reading.signal.aborted) {
      process.stderr.write("aimctl: Detached. A run that was asked for goes on.\n");
      return EXIT.detached;
    }
    if (!isClientError(error)) throw error;
    const runAsked = isExecute && (answered || error.code !== "unreachable");
    throw new CliFault(exitOfClientFault(error.code, runAsked), error.message);
  } finally {
    interrupt.dispose();
  }
}

function exitOfLine(last: WireLine | undefined, isExecute: boolean): ExitCode {
  if (last?.type === "error") return exitOfWireProblem(last.error);
  if (last?.type !== "response") return isExecute ? EXIT.unknownOutcome : EXIT.unavailable;
  return isExecute ? exitOfExecute(last.response) : EXIT.ok;
}

function exitOfExecute(response: unknown): ExitCode {
  const { state, target_summary: summary } = (response ?? {}) as Partial<RunResult>;
  if (state === undefined || summary === undefined) return EXIT.unknownOutcome;
  return exitOfResult(response as RunResult);
}

function exitOfWireProblem({ code }: Problem): ExitCode {
  if (!isProblemCode(code)) return EXIT.other;
  return exitOfProblem({ code, status: PROBLEMS[code][0] });
}

interface Input {
  /** The line without its line feed, otherwise untouched: the plane must see duplicate keys and odd numbers. */
  readonly line: string;
  readonly operation: unknown;
}

/** Throws AimError `malformed_json` for anything but one JSON object on one line. */
export function parseInput(bytes: Uint8Array): Input {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const line = text.replace(/\r?\n$/, "");
    const value: unknown = line.includes("\n") ? null : JSON.parse(line);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return { line, operation: "operation" in value ? value.operation : undefined };
    }
  } catch {
    // Falls through: a parser's message would quote the input.
  }
  throw new AimError("malformed_json");
}

async function readInput(input: AsyncIterable<unknown>): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of input) {
    if (!Buffer.isBuffer(piece)) continue;
    length += piece.length;
    // One byte more for the line feed, which is not part of the line.
    if (length > OPERATION_BYTES_MAX + 1) throw new AimError("request_too_large");
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function withCredentials(client: Client, line: string, descriptor: number): Promise<string> {
  const credentials = await readCredentialsDescriptor(descriptor);
  const id = await client.credentials(credentials);
  return addMember(line, "credentials_id", id);
}

/** Adds a member to an object's text without touching the rest. A member that is there twice is the plane's to refuse. */
export function addMember(line: string, key: string, value: string): string {
  const end = line.lastIndexOf("}");
  const head = line.slice(0, end);
  const comma = /\{\s*$/.test(head) ? "" : ",";
  return `${head}${comma}${JSON.stringify(key)}:${JSON.stringify(value)}${line.slice(end)}`;
}

function writeLine(text: string): void {
  process.stdout.write(`${text}\n`);
}
