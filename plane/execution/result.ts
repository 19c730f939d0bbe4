// The final result of an attempt, also when no runner lived to report one. Pure.
import {
  runError,
  summarize,
  type Completion,
  type JobSpec,
  type JournalSummary,
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
): RunResult {
  const outcome = completion?.outcome;
  const targets = outcome?.targets ?? unreportedTargets(attempt, spec);
  const error = errorCode(attempt);
  return {
    run_id: attempt.id,
    state: attempt.state,
    effect: attempt.effect,
    evidence: attempt.evidence,
    kill_confirmed: attempt.killConfirmed,
    remote_work: attempt.remoteWork,
    failure_category: attempt.failureCategory,
    error: outcome === undefined ? (error === null ? null : runError(error)) : outcome.error,
    stats: outcome?.stats ?? null,
    targets,
    target_summary: outcome?.target_summary ?? summarize(targets),
    operation_result: outcome?.operation_result ?? null,
    change_evidence: outcome?.change_evidence ?? [],
    journal: journalOf(attempt),
    manifest_digest: attempt.manifestDigest,
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

function journalOf(attempt: Attempt): JournalSummary {
  const last = attempt.lastSequence;
  return {
    stored: Math.max(0, last - attempt.eventsLost),
    lost: attempt.eventsLost,
    first_sequence: last === 0 ? null : 1,
    last_sequence: last === 0 ? null : last,
  };
}
