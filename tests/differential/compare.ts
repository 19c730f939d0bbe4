// Compares what the driver makes of the frames of a run with what Ansible itself printed and ended with.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  ANSIBLE_CORE_VERSION,
  COUNT_NAMES,
  type Counts,
  type EventBody,
  type Outcome,
} from "@aim/contract";
import { account } from "../../drivers/ansible/accounting.ts";
import { createFrameReader } from "../../drivers/ansible/frames.ts";
import { createProjection, sameCounts, zeroCounts } from "../../drivers/ansible/projection.ts";
import { recapsIn } from "./recap.ts";

export interface Recorded {
  readonly frames: Buffer;
  readonly stdout: string;
  /** Null when the run was ended before its status was known. */
  readonly exitCode: number | null;
}

/**
 * `compared`: Ansible printed a recap. `other_output`: it reached its final counts, and the target had another callback
 * print them. `no_stats`: it never came to final counts.
 */
type RunKind = "compared" | "other_output" | "no_stats";

export interface Comparison {
  readonly kind: RunKind;
  readonly rows: number;
  readonly results: number;
  readonly succeeded: boolean;
  /** The exit status and the recap tell different stories about success. */
  readonly disagree: boolean;
  readonly differences: readonly string[];
}

export function readRecord(folder: string): Recorded {
  const text = (name: string): string =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : "";
  const status = text("exit").trim();
  return {
    frames: existsSync(join(folder, "frames")) ? readFileSync(join(folder, "frames")) : Buffer.of(),
    stdout: text("stdout"),
    exitCode: status === "" ? null : Number(status),
  };
}

type Rows = ReadonlyMap<string, Counts>;

type Projected = ReturnType<typeof project>;

/** Everything the driver says about a recorded run. */
function project(recorded: Recorded, digest: string, hosts: readonly string[]) {
  const told = new Map<string, Counts>();
  const projection = createProjection({
    mode: "detail",
    nonce: "differential",
    ansible: ANSIBLE_CORE_VERSION,
    callback: digest,
    publicHost: (host) => ({ host, host_redacted: false }),
    holdsCredential: () => false,
    knowsChange: () => true,
    emit: (event: EventBody) => {
      if (event.kind === "host_recap") told.set(event.host ?? "", event.counts);
    },
  });
  const reader = createFrameReader((frame) => projection.accept(frame));
  reader.push(recorded.frames);
  const outcome = account({
    hosts,
    books: projection.books,
    fault: reader.fault,
    unfinished: reader.unfinished,
    exitCode: recorded.exitCode,
    stop: null,
    operationResult: { ok: true, value: null },
  });
  return { told, books: projection.books, reader, outcome };
}

export function compare(recorded: Recorded, digest: string): Comparison {
  // A command with several playbooks prints a recap after each; the frames end with the first.
  const [native] = recapsIn(recorded.stdout);
  const known = native ?? project(recorded, digest, []).told;
  // What the request would have named; a run that touched no host was asked for one.
  const ours = project(recorded, digest, known.size === 0 ? ["testhost"] : [...known.keys()]);
  const { told, books, reader, outcome } = ours;
  const rows = native ?? told;
  const clean = [...rows.values()].every((row) => row.failures === 0 && row.unreachable === 0);
  const differences: string[] = [];
  if (reader.fault !== null) differences.push(`${reader.fault} after frame ${reader.frames}`);
  if (native !== undefined) differences.push(...nativeDifferences(native, ours, recorded.exitCode));
  const expected = recorded.exitCode === 0 && clean && rows.size > 0;
  const succeeded = outcome.verdict === "succeeded";
  if (succeeded !== expected) differences.push(verdictWords(outcome, recorded.exitCode));
  return {
    kind: kindOf(native !== undefined, books.recap !== null),
    rows: native?.size ?? 0,
    results: books.results,
    succeeded,
    disagree: native !== undefined && (recorded.exitCode === 0) !== clean,
    differences,
  };
}

function nativeDifferences(native: Rows, ours: Projected, exitCode: number | null): string[] {
  const derived = new Map([...ours.books.hosts].map(([host, book]) => [host, book.derived]));
  return [
    ...rowDifferences("host_recap", native, ours.told),
    ...derivedDifferences(native, derived),
    ...targetDifferences(native, ours.outcome, exitCode),
  ];
}

function verdictWords(outcome: Outcome, exitCode: number | null): string {
  return `verdict ${outcome.verdict} (${outcome.error?.code ?? "no error"}), exit ${exitCode}`;
}

function kindOf(printed: boolean, counted: boolean): RunKind {
  if (printed) return "compared";
  return counted ? "other_output" : "no_stats";
}

function words(counts: Counts | undefined): string {
  return counts === undefined
    ? "no row"
    : COUNT_NAMES.map((name) => `${name}=${counts[name]}`).join(" ");
}

/** Every count of every row must be the same, and no row may stand on one side only. */
function rowDifferences(what: string, native: Rows, ours: Rows): string[] {
  return [...new Set([...native.keys(), ...ours.keys()])].flatMap((host) => {
    const [theirs, own] = [words(native.get(host)), words(ours.get(host))];
    return theirs === own ? [] : [`${what} of ${host}: Ansible ${theirs}, ours ${own}`];
  });
}

/** Counts that the projection derives from single results; failures and rescues as one sum. */
function derivedDifferences(native: Rows, derived: Rows): string[] {
  return [...new Set([...native.keys(), ...derived.keys()])].flatMap((host) => {
    const theirs = native.get(host) ?? zeroCounts();
    const own = derived.get(host) ?? zeroCounts();
    if (sameCounts(own, theirs)) return [];
    return [`derived counts of ${host}: Ansible ${words(theirs)}, ours ${words(own)}`];
  });
}

/** What each host's outcome must be, told from the native row and the exit status alone. */
function targetDifferences(native: Rows, outcome: Outcome, exitCode: number | null): string[] {
  const explained = [...native.values()].some((row) => row.failures > 0 || row.unreachable > 0);
  const unexplained = exitCode !== 0 && !explained;
  return outcome.targets.flatMap(({ host, outcome: own }) => {
    const expected = expectedTarget(native.get(host), unexplained);
    return own === expected ? [] : [`outcome of ${host}: expected ${expected}, ours ${own}`];
  });
}

function expectedTarget(row: Counts | undefined, unexplained: boolean): string {
  if (row === undefined) return "not_reached";
  if (row.failures > 0) return "failed";
  if (row.unreachable > 0) return "unreachable";
  if (unexplained) return "unknown";
  if (row.changed > 0) return "changed";
  return row.ok === 0 && row.skipped > 0 ? "skipped" : "succeeded";
}
