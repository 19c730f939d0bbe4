// The exit status, decided here and nowhere else. 2, 4 and 6 are ansible-playbook's own.
import type { ProblemCode, RunResult } from "@aim/contract";
import type { ClientFaultCode } from "@aim/sdk";

export const EXIT = {
  ok: 0,
  other: 1,
  failedHosts: 2,
  unreachableHosts: 4,
  failedAndUnreachable: 6,
  unknownOutcome: 8,
  usage: 64,
  revision: 65,
  unavailable: 69,
  notPermitted: 77,
  detached: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

type ResultFacts = Pick<RunResult, "state" | "error" | "target_summary">;

const STREAM_ERRORS: ReadonlySet<string> = new Set([
  "invalid_event_stream",
  "event_limit",
  "event_bridge_unavailable",
  "event_bridge_incomplete",
]);

const VERDICTS: ReadonlySet<string> = new Set(["succeeded", "failed"]);

const INPUT_STATUSES: ReadonlySet<number> = new Set([400, 404, 413, 422]);

const BY_PROBLEM: Partial<Record<ProblemCode, ExitCode>> = {
  stale_revision: EXIT.revision,
  revision_used: EXIT.revision,
  revision_expired: EXIT.revision,
  runner_unavailable: EXIT.unavailable,
  shutting_down: EXIT.unavailable,
  storage_full: EXIT.unavailable,
  not_enabled: EXIT.notPermitted,
  local_only: EXIT.notPermitted,
  unauthenticated: EXIT.notPermitted,
  login_refused: EXIT.notPermitted,
  setup_refused: EXIT.notPermitted,
  sso_off: EXIT.notPermitted,
  sso_refused: EXIT.notPermitted,
  sso_denied: EXIT.notPermitted,
  sso_no_role: EXIT.notPermitted,
  sso_unavailable: EXIT.unavailable,
  roles_elsewhere: EXIT.notPermitted,
  not_permitted: EXIT.notPermitted,
  roles_exceed: EXIT.notPermitted,
  approval_required: EXIT.notPermitted,
  approval_own: EXIT.notPermitted,
  too_many_requests: EXIT.unavailable,
};

/** The status for a run's result. What nobody knows comes first: it must never look like an ordinary failure. */
export function exitOfResult({ state, error, target_summary: summary }: ResultFacts): ExitCode {
  const code = error?.code ?? "";
  if (state === "lost" || summary.unknown > 0 || STREAM_ERRORS.has(code)) {
    return EXIT.unknownOutcome;
  }
  // A run that somebody or its deadline ended is no verdict on its hosts.
  if (!VERDICTS.has(state)) return EXIT.other;
  const hosts = exitOfHosts(summary, code);
  if (hosts !== EXIT.ok) return hosts;
  return state === "succeeded" && code === "" ? EXIT.ok : EXIT.other;
}

function exitOfHosts(summary: ResultFacts["target_summary"], code: string): ExitCode {
  // Hosts that a play added count as well, and they are no targets: for them only the error speaks.
  const failed = summary.failed > 0 || code === "hosts_failed";
  const unreachable = summary.unreachable > 0 || code === "hosts_unreachable";
  if (failed) return unreachable ? EXIT.failedAndUnreachable : EXIT.failedHosts;
  return unreachable ? EXIT.unreachableHosts : EXIT.ok;
}

/** The status for a refusal: `status` is the HTTP status that the contract gives the problem. */
export function exitOfProblem(problem: {
  readonly code: ProblemCode;
  readonly status: number;
}): ExitCode {
  return BY_PROBLEM[problem.code] ?? (INPUT_STATUSES.has(problem.status) ? EXIT.usage : EXIT.other);
}

/** The status for an answer that is missing or cut. Once a run was asked for, its outcome is then unknown. */
export function exitOfClientFault(code: ClientFaultCode, runAsked: boolean): ExitCode {
  if (runAsked) return EXIT.unknownOutcome;
  return code === "unreachable" || code === "stream_cut" ? EXIT.unavailable : EXIT.other;
}
