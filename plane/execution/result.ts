// The final result of an attempt, also when no runner lived to report one; what its journal holds is added to it. Pure.
import {
  runError,
  summarize,
  type Completion,
  type JobSpec,
  type RunErrorCode,
  type RunResult,
  type Target,
} from "@aim/contract";
import type { Attempt } from "./attempt.ts";

/** `attempt` is the attempt as the terminal step left it. */
export function resultOf(
  attempt: Attempt,
  spec: JobSpec,
  completion: Completion | null,
): Omit<RunResult, "journal"> {
  const { error, stats, targets, target_summary, operation_result, change_evidence } =
    completion?.outcome ?? unreported(attempt, spec);
  return {
    run_id: attempt.id,
    state: attempt.state,
    effect: attempt.effect,
    evidence: attempt.evidence,
    kill_confirmed: attempt.killConfirmed,
    remote_work: attempt.remoteWork,
    failure_category: attempt.failureCategory,
    error,
    stats,
    targets,
    target_summary,
    operation_result,
    change_evidence,
    manifest_digest: attempt.manifestDigest,
  };
}

type Reported = Pick<
  RunResult,
  "error" | "stats" | "targets" | "target_summary" | "operation_result" | "change_evidence"
>;

function unreported(attempt: Attempt, spec: JobSpec): Reported {
  const targets = unreportedTargets(attempt, spec);
  const code = errorCode(attempt);
  return {
    error: code === null ? null : runError(code),
    stats: null,
    targets,
    target_summary: summarize(targets),
    operation_result: null,
    change_evidence: [],
  };
}

function errorCode({ state }: Attempt): RunErrorCode | null {
  return state === "lost" || state === "cancelled" || state === "timed_out" ? state : null;
}

/** Nobody reported: what never ran was not reached, of everything else nothing is known. */
function unreportedTargets(attempt: Attempt, spec: JobSpec): Target[] {
  const hosts = (spec.inputs as { hosts?: readonly string[] }).hosts ?? [];
  const outcome = attempt.everRunning ? "unknown" : "not_reached";
  return hosts.map((host) => ({ host, outcome, counts: null }));
}
