// Hands attempts out, listens to runners, watches leases and deadlines. Decides nothing itself: `step` does.
import {
  AimError,
  canonicalJson,
  isTerminal,
  type AttemptGrant,
  type ClaimRequest,
  type Completion,
  type EventBatch,
  type Grant,
  type Heartbeat,
  type HeartbeatAnswer,
  type Move,
  type ProblemCode,
  type Register,
} from "@aim/contract";
import type { Clock } from "../base/clock.ts";
import type { Store } from "../store/store.ts";
import type { Applied } from "../store/uses/apply-step.ts";
import type { Claimed } from "../store/uses/claim-next.ts";
import type { Attempt } from "./attempt.ts";
import type { Inspections } from "./inspections.ts";
import type { Signals } from "./signals.ts";

export const LEASE_TTL_MS = 30_000;
const REAP_EVERY_MS = 1_000;
/** A runner that has not called for this long is not counted as ready. */
const RUNNER_SILENT_MS = 60_000;

export interface DispatcherParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly signals: Signals;
  readonly inspections: Inspections;
  readonly digest: (text: string) => string;
  readonly leaseTtlMs?: number;
  /** Called once for each attempt that became terminal. */
  readonly onEnd: (attempt: Attempt) => void;
}

export type Dispatcher = ReturnType<typeof createDispatcher>;

export const eventsTopic = (attemptId: string): string => `events ${attemptId}`;
export const CLAIM_TOPIC = "claims";

interface Known {
  readonly register: Register;
  seen: number;
}

export function createDispatcher(parts: DispatcherParts) {
  const { store, clock, signals, inspections } = parts;
  const ttlMs = parts.leaseTtlMs ?? LEASE_TTL_MS;
  const runners = new Map<string, Known>();
  let admitting = true;

  function register(request: Register): { lease_ms: number } {
    runners.set(request.runner_instance_id, { register: request, seen: clock.now() });
    return { lease_ms: ttlMs };
  }

  /** The runner that would take the next attempt, or null when none is ready. */
  function readyRunner(): Register | null {
    for (const { register: runner, seen } of runners.values()) {
      const alive = clock.now() - seen < RUNNER_SILENT_MS;
      if (alive && runner.runtime.sandbox_checks.failed === 0) return runner;
    }
    return null;
  }

  async function claim(request: ClaimRequest, signal: AbortSignal): Promise<Grant | null> {
    const known = runners.get(request.runner_instance_id);
    if (known === undefined) throw new AimError("not_found");
    const end = clock.now() + request.wait_ms;
    for (;;) {
      known.seen = clock.now();
      const grant = admitting ? await next(known.register, request.claim_id) : null;
      if (grant !== null || signal.aborted || clock.now() >= end) return grant;
      await signals.wait(CLAIM_TOPIC, Math.min(1_000, end - clock.now()), signal);
    }
  }

  async function next(runner: Register, claimId: string): Promise<Grant | null> {
    const inspection = inspections.take(runner.job_types);
    if (inspection !== null) return inspection;
    const claimed = await store.claimNext({
      runner: runner.runner_instance_id,
      claimId,
      ttlMs,
      jobTypes: runner.job_types,
      now: clock.now(),
    });
    return claimed === null ? null : grantOf(claimed);
  }

  function grantOf({ attempt, job, files }: Claimed): AttemptGrant {
    return {
      kind: "attempt",
      attempt_id: attempt.id,
      job_id: job.id,
      epoch: attempt.epoch,
      lease_ms: ttlMs,
      deadline_ms: Math.max(0, Math.floor(attempt.deadline - clock.now())),
      spec: job.spec,
      files: [...files],
    };
  }

  async function heartbeat(attemptId: string, beat: Heartbeat): Promise<HeartbeatAnswer> {
    const applied = await store.putHeartbeat({ attemptId, heartbeat: beat, ttlMs, now: clock.now() });
    const attempt = accepted(applied);
    touch(attempt);
    const stopping = attempt.state === "cancelling" || clock.now() >= attempt.deadline;
    return { lease_ms: ttlMs, cancel: stopping ? { grace_ms: attempt.graceMs } : null };
  }

  async function move(attemptId: string, request: Move): Promise<HeartbeatAnswer> {
    const { epoch, to } = request;
    const attempt = accepted(
      await store.applyStep({ attemptId, command: { do: "move", epoch, to }, now: clock.now() }),
    );
    touch(attempt);
    return {
      lease_ms: ttlMs,
      cancel: attempt.state === "cancelling" ? { grace_ms: attempt.graceMs } : null,
    };
  }

  async function events(attemptId: string, batch: EventBatch): Promise<void> {
    const code = await store.appendEvents({ attemptId, ...batch, now: clock.now() });
    if (code !== null) throw new AimError(code);
    signals.wake(eventsTopic(attemptId));
  }

  async function complete(attemptId: string, completion: Completion): Promise<Attempt> {
    const { epoch, outcome, kill_confirmed: killConfirmed } = completion;
    const manifestDigest = parts.digest(canonicalJson(completion.manifest));
    const report = {
      digest: parts.digest(canonicalJson(completion)),
      verdict: outcome.verdict,
      effect: outcome.effect,
      killConfirmed,
    };
    const command = { do: "complete", epoch, report } as const;
    const now = clock.now();
    const applied = await store.applyStep({ attemptId, command, now, completion, manifestDigest });
    return accepted(applied);
  }

  async function cancel(attemptId: string): Promise<Attempt> {
    return accepted(
      await store.applyStep({ attemptId, command: { do: "cancel" }, now: clock.now() }),
    );
  }

  /** Ends what nobody holds any more. Safe to run at any time and twice. */
  async function reap(): Promise<void> {
    const now = clock.now();
    for (const attempt of await store.liveAttempts()) {
      const over = attempt.leaseExpires === null ? attempt.deadline : attempt.leaseExpires;
      if (now < over) continue;
      const applied = await store.applyStep({ attemptId: attempt.id, command: { do: "reap" }, now });
      if (applied !== null) settle(applied);
    }
    await store.saveMoment({ now });
  }

  /** Recovery at start: leases get one ttl for the time in which nobody could extend them. */
  async function recover(): Promise<void> {
    await store.grantGrace({ now: clock.now(), ttlMs });
    await reap();
  }

  let timer: NodeJS.Timeout | undefined;
  let reaping = Promise.resolve();
  function watch(onDefect: (error: unknown) => void): void {
    timer = setInterval(() => {
      reaping = reaping.then(reap).catch(onDefect);
    }, REAP_EVERY_MS);
  }

  async function stop(): Promise<void> {
    admitting = false;
    clearInterval(timer);
    signals.wake(CLAIM_TOPIC);
    await reaping;
  }

  function accepted(applied: Applied | null): Attempt {
    if (applied === null) throw new AimError("not_found");
    settle(applied);
    if (applied.code !== null) throw new AimError(applied.code satisfies ProblemCode);
    return applied.attempt;
  }

  function settle({ attempt, moved }: Applied): void {
    if (!moved) return;
    signals.wake(eventsTopic(attempt.id));
    if (isTerminal(attempt.state)) parts.onEnd(attempt);
  }

  function touch(attempt: Attempt): void {
    const known = attempt.runner === null ? undefined : runners.get(attempt.runner);
    if (known !== undefined) known.seen = clock.now();
  }

  return {
    cancel,
    claim,
    complete,
    events,
    heartbeat,
    move,
    readyRunner,
    reap,
    recover,
    register,
    stop,
    watch,
  };
}
