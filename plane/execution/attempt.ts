// One attempt as the plane remembers it. What a store keeps and `step` decides on.
import type {
  AttemptState,
  Effect,
  Evidence,
  FailureCategory,
  JobSpec,
  RemoteWork,
  RunResult,
} from "@aim/contract";

export interface Attempt {
  readonly id: string;
  readonly jobId: string;
  readonly customer: string;
  readonly number: number;
  readonly state: AttemptState;
  readonly effect: Effect;
  readonly evidence: Evidence;
  readonly killConfirmed: boolean;
  readonly failureCategory: FailureCategory | null;
  readonly remoteWork: RemoteWork;
  /** Rises with each lease; 0 before the first. */
  readonly epoch: number;
  readonly runner: string | null;
  readonly claimId: string | null;
  /** Plane time in milliseconds. */
  readonly leaseExpires: number | null;
  readonly deadline: number;
  readonly graceMs: number;
  readonly created: number;
  readonly started: number | null;
  readonly ended: number | null;
  readonly cancelRequested: number | null;
  /** It was in state running at least once: from then on its effect may be unknown. */
  readonly everRunning: boolean;
  readonly terminalDigest: string | null;
  readonly lastSequence: number;
  readonly eventsLost: number;
  readonly manifestDigest: string | null;
  readonly result: RunResult | null;
}

export interface Job {
  readonly id: string;
  readonly customer: string;
  readonly playbook: string;
  readonly title: string;
  readonly idempotencyKey: string;
  readonly requestDigest: string;
  readonly spec: JobSpec;
  readonly bundleDigest: string;
  readonly created: number;
  /** Id of the principal that asked for it. */
  readonly owner: string;
  /** Name of whoever approved its revision; null where none had to. */
  readonly approvedBy: string | null;
}

/** What a new attempt is told; everything else follows from its being new. */
export type Accepted = Pick<
  Attempt,
  "id" | "jobId" | "customer" | "number" | "deadline" | "graceMs" | "created"
>;

/** An attempt that waits for its first runner. */
export function waitingAttempt(accepted: Accepted): Attempt {
  return {
    ...accepted,
    state: "queued",
    effect: "none",
    evidence: "none",
    killConfirmed: false,
    failureCategory: null,
    remoteWork: "none",
    epoch: 0,
    runner: null,
    claimId: null,
    leaseExpires: null,
    started: null,
    ended: null,
    cancelRequested: null,
    everRunning: false,
    terminalDigest: null,
    lastSequence: 0,
    eventsLost: 0,
    manifestDigest: null,
    result: null,
  };
}
