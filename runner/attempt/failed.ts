// The outcome of an attempt that its driver could not carry through.
import {
  runError,
  summarize,
  type FailureCategory,
  type JobSpec,
  type Outcome,
  type RunErrorCode,
  type Target,
} from "@aim/contract";
import { ContentMismatch } from "../bundle/workspace.ts";
import { SandboxError } from "../sandbox/sandbox.ts";

export type Stop = "cancelled" | "timed_out";

/** Thrown where a driver would go on although a stop was asked for. */
export class Stopped extends Error {
  override readonly name = "Stopped";
}

const CATEGORIES: Partial<Record<RunErrorCode, FailureCategory>> = {
  cancelled: "cancelled",
  timed_out: "timeout",
  content_mismatch: "source_untrusted",
  sandbox_unavailable: "sandbox_unavailable",
};

export interface Failure {
  readonly error: unknown;
  readonly stop: Stop | null;
  /** The tool was started: from then on nobody can vouch for the targets. */
  readonly started: boolean;
}

export function failedOutcome(spec: JobSpec, failure: Failure): Outcome {
  const code = failure.stop ?? codeOf(failure.error);
  const hosts = (spec.inputs as { hosts?: readonly string[] }).hosts ?? [];
  const outcome = failure.started ? "unknown" : "not_reached";
  const targets = hosts.map((host): Target => ({ host, outcome, counts: null }));
  return {
    verdict: failure.stop ?? "failed",
    effect: failure.started ? "unknown" : "none",
    remote_work: failure.started ? "possible" : "none",
    failure_category: CATEGORIES[code] ?? "internal",
    error: runError(code),
    stats: null,
    targets,
    target_summary: summarize(targets),
    operation_result: null,
    change_evidence: [],
  };
}

function codeOf(error: unknown): RunErrorCode {
  if (error instanceof ContentMismatch) return "content_mismatch";
  return error instanceof SandboxError ? "sandbox_unavailable" : "internal";
}
