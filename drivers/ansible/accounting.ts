// The final accounting: from the books, the exit status and what was asked for to one honest outcome. Pure.
import {
  COUNT_NAMES,
  runError,
  summarize,
  type Counts,
  type FailureCategory,
  type Outcome,
  type RemoteWork,
  type RunErrorCode,
  type Target,
  type TargetOutcome,
} from "@aim/contract";
import type { ToolExit } from "../kit/index.ts";
import type { StreamFault } from "./frames.ts";
import { zeroCounts, type Books } from "./projection.ts";

export interface Ending {
  readonly hosts: readonly string[];
  readonly books: Books;
  /** What is wrong with the stream as it was read; null when every frame was right. */
  readonly fault: StreamFault | null;
  /** The stream ended inside a line. */
  readonly unfinished: boolean;
  readonly exitCode: number | null;
  readonly stop: Stop | null;
  /** The declared operation result after its checks. */
  readonly operationResult:
    | { readonly ok: true; readonly value: Record<string, unknown> | null }
    | { readonly ok: false; readonly code: RunErrorCode };
}

type Stop = "cancelled" | "timed_out";

/** A tool that was gone before the stop reached it ended by itself: what it did counts, not what was asked meanwhile. */
export function stopThatCounts(ended: ToolExit["reason"], asked: Stop | null): Stop | null {
  if (ended === "exited") return null;
  return ended === "deadline" ? "timed_out" : asked;
}

/** Decides outcome by outcome. Where exit status and recap disagree the worse one counts. */
export function account(ending: Ending): Outcome {
  const { books } = ending;
  const streamError = streamErrorOf(ending);
  const whole = streamError === null;
  const unexplained = whole && ending.exitCode !== 0 && !rowsExplainFailure(books);
  const targets = ending.hosts.map((host): Target => {
    const counts = books.recap?.get(host) ?? null;
    return { host, outcome: outcomeOf(counts, whole, unexplained), counts };
  });
  const error = errorOf(ending, streamError, targets);
  const remoteWork = remoteWorkOf(books);
  return {
    verdict: verdictOf(ending, error),
    effect: effectOf(ending, whole, remoteWork),
    remote_work: remoteWork,
    failure_category: error === null ? null : (CATEGORIES[error] ?? "tool_failed"),
    error: error === null ? null : runError(error),
    stats: books.recap === null ? null : sumOf(books.recap),
    targets,
    target_summary: summarize(targets),
    operation_result: ending.operationResult.ok ? ending.operationResult.value : null,
    change_evidence: ending.hosts.flatMap((host) => {
      const book = books.hosts.get(host);
      if (book === undefined) return [];
      return [{ host, trusted: book.trusted, unverified: book.unverified }];
    }),
  };
}

function streamErrorOf(ending: Ending): RunErrorCode | null {
  if (ending.fault !== null) return ending.fault;
  if (!ending.books.hello) {
    return ending.unfinished ? "invalid_event_stream" : "event_bridge_unavailable";
  }
  return ending.books.ended && !ending.unfinished ? null : "event_bridge_incomplete";
}

function rowsExplainFailure(books: Books): boolean {
  for (const counts of books.recap?.values() ?? []) {
    if (counts.failures > 0 || counts.unreachable > 0) return true;
  }
  return false;
}

function outcomeOf(counts: Counts | null, whole: boolean, unexplained: boolean): TargetOutcome {
  if (counts === null) return whole ? "not_reached" : "unknown";
  if (counts.failures > 0) return "failed";
  if (counts.unreachable > 0) return "unreachable";
  // Ansible says the run failed and no row says where: nobody can vouch for a clean row.
  if (unexplained || !whole) return "unknown";
  if (counts.changed > 0) return "changed";
  return counts.ok === 0 && counts.skipped > 0 ? "skipped" : "succeeded";
}

function errorOf(
  ending: Ending,
  streamError: RunErrorCode | null,
  targets: readonly Target[],
): RunErrorCode | null {
  // A tool that ended by itself before the stop took effect is judged by what it did.
  const endedByItself = streamError === null && ending.exitCode === 0;
  if (ending.stop !== null && !endedByItself) return ending.stop;
  if (streamError !== null) return streamError;
  const has = (outcome: TargetOutcome) => targets.some((target) => target.outcome === outcome);
  if (has("failed")) return "hosts_failed";
  if (has("unreachable")) return "hosts_unreachable";
  if (ending.exitCode !== 0 || has("unknown")) return "tool_failed";
  if (targets.every((target) => target.outcome === "not_reached")) return "nothing_ran";
  return ending.operationResult.ok ? null : ending.operationResult.code;
}

function verdictOf(ending: Ending, error: RunErrorCode | null): Outcome["verdict"] {
  if (error === null) return "succeeded";
  return ending.stop !== null && error === ending.stop ? ending.stop : "failed";
}

function remoteWorkOf(books: Books): RemoteWork {
  if (books.results > 0) return "started";
  return books.tasksStarted > 0 ? "possible" : "none";
}

function effectOf(ending: Ending, whole: boolean, remoteWork: RemoteWork): Outcome["effect"] {
  if (remoteWork !== "none") return whole ? "complete" : "unknown";
  // The callback ends the run when it cannot write, so an undamaged stream without a task means that none ran.
  return ending.fault === null && !ending.unfinished ? "none" : "unknown";
}

const CATEGORIES: Partial<Record<RunErrorCode, FailureCategory>> = {
  invalid_event_stream: "event_stream",
  event_limit: "event_stream",
  event_bridge_unavailable: "event_stream",
  event_bridge_incomplete: "event_stream",
  cancelled: "cancelled",
  timed_out: "timeout",
  hosts_unreachable: "target_unreachable",
  operation_result_missing: "verification_failed",
  operation_result_invalid: "verification_failed",
};

function sumOf(rows: ReadonlyMap<string, Counts>): Counts {
  const sum = zeroCounts();
  for (const counts of rows.values()) {
    for (const name of COUNT_NAMES) sum[name] += counts[name];
  }
  return sum;
}
