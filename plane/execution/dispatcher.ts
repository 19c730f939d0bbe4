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
import type { AuditEntry } from "../audit/chain.ts";
import type { Clock } from "../base/clock.ts";
import { point } from "../base/point.ts";
import type { JournalLimits } from "../journal/retention.ts";
import type { Store } from "../store/store.ts";
import type { Applied } from "../store/uses/apply-step.ts";
import type { Claimed } from "../store/uses/claim-next.ts";
import type { Attempt } from "./attempt.ts";
import { createClaimDesk, type ClaimDesk } from "./claim-desk.ts";
import type { Inspections } from "./inspections.ts";
import type { Observer } from "./observer.ts";
import { checkManifest, keptManifest } from "./kept-manifest.ts";
import type { Signals } from "./signals.ts";
import type { SilentCancel } from "./step.ts";

export const LEASE_TTL_MS = 30_000;
const REAP_EVERY_MS = 1_000;
/** A claim that waits looks by itself after this long, whoever forgot to wake it. */
const LOOK_AGAIN_MS = 1_000;
/** After a long silence thousands may be due: so many in one transaction, and so many transactions at the same time. */
const REAPED_TOGETHER = 32;
const REAPS_AT_ONCE = 4;
/** A runner that has not called for this long is not counted as ready. */
export const RUNNER_SILENT_MS = 60_000;
/** How often it is written down that a runner was heard of. */
const NOTE_RUNNER_MS = 5_000;

export interface DispatcherParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly signals: Signals;
  readonly inspections: Inspections;
  readonly digest: (text: string) => string;
  /** How many bytes are kept under a digest, or null for none. */
  readonly sizeOf: (sha256: string) => Promise<number | null>;
  readonly leaseTtlMs?: number;
  readonly silentCancel?: SilentCancel;
  /** Of the journals that begin from now on; the usual ones when absent. */
  readonly journalLimits?: JournalLimits;
  readonly observer: Observer;
  /** Called once for each attempt that became terminal. */
  readonly onEnd: (attempt: Attempt) => void;
}

export const eventsTopic = (attemptId: string): string => `events ${attemptId}`;
export const CLAIM_TOPIC = "claims";
/** Woken when callbacks are to be told something. */
export const OUTBOX_TOPIC = "outbox";

interface Known {
  readonly register: Register;
  seen: number;
  /** When `seen` was last written down. */
  noted: number;
  draining: boolean;
}

function slices<T>(all: readonly T[], size: number): (readonly T[])[] {
  const count = Math.ceil(all.length / size);
  return Array.from({ length: count }, (_, at) => all.slice(at * size, (at + 1) * size));
}

const audited = (audit: AuditEntry | undefined) => (audit === undefined ? {} : { audit });

export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #ttlMs: number;
  readonly #desk: ClaimDesk;
  readonly #silence: { readonly silentCancel?: SilentCancel };
  readonly #limits: { readonly limits?: JournalLimits };
  readonly #runners = new Map<string, Known>();
  #admitting = true;
  #recovered = false;
  #timer: NodeJS.Timeout | undefined;
  #reaping = Promise.resolve();

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#ttlMs = parts.leaseTtlMs ?? LEASE_TTL_MS;
    this.#desk = createClaimDesk({ ...parts, ttlMs: this.#ttlMs });
    const { silentCancel } = parts;
    this.#silence = silentCancel === undefined ? {} : { silentCancel };
    this.#limits = parts.journalLimits === undefined ? {} : { limits: parts.journalLimits };
  }

  /** False until what a former process left was looked at. */
  get recovered(): boolean {
    return this.#recovered;
  }

  /** False once the plane is shutting down. */
  get admitting(): boolean {
    return this.#admitting;
  }

  /** `name` is the identity that the runner came with. */
  async register(register: Register, name = "local"): Promise<{ lease_ms: number }> {
    const now = this.#parts.clock.now();
    await this.#parts.store.saveRunner({ register, name, now });
    const known = this.#runners.get(register.runner_instance_id);
    const draining = known?.draining ?? false;
    this.#runners.set(register.runner_instance_id, { register, seen: now, noted: now, draining });
    return { lease_ms: this.#ttlMs };
  }

  /** The runner finishes what it holds and takes nothing more. Throws not_found for an unknown one. */
  async drain(id: string, audit?: AuditEntry): Promise<void> {
    const drained = await this.#parts.store.drainRunner({ id, ...audited(audit) });
    if (!drained) throw new AimError("not_found");
    const known = this.#runners.get(id);
    if (known !== undefined) known.draining = true;
    this.#parts.signals.wake(CLAIM_TOPIC);
  }

  /** The runner that would take the next attempt, or null when none is ready. */
  readyRunner(): Register | null {
    for (const { register: runner, seen, draining } of this.#runners.values()) {
      const alive = this.#parts.clock.now() - seen < RUNNER_SILENT_MS;
      if (alive && !draining && runner.runtime.sandbox_checks.failed === 0) return runner;
    }
    return null;
  }

  async claim(request: ClaimRequest, signal: AbortSignal): Promise<Grant | null> {
    const known = this.#runners.get(request.runner_instance_id);
    if (known === undefined) throw new AimError("not_found");
    const end = this.#parts.clock.now() + request.wait_ms;
    for (;;) {
      // Listens before it looks: what is accepted while it looks must not wait for the next look.
      const { woken, stop } = this.#parts.signals.listen(
        CLAIM_TOPIC,
        Math.max(0, Math.min(LOOK_AGAIN_MS, end - this.#parts.clock.now())),
      );
      signal.addEventListener("abort", stop);
      try {
        await this.#hear(request.runner_instance_id);
        if (known.draining) return { kind: "drain" };
        // In words, so that a runner asks again later and not at once.
        if (!this.#admitting) throw new AimError("shutting_down");
        const grant = await this.#next(known.register, request.claim_id);
        if (grant !== null || signal.aborted || this.#parts.clock.now() >= end) return grant;
        await woken;
      } finally {
        signal.removeEventListener("abort", stop);
        stop();
      }
    }
  }

  async #next(runner: Register, claimId: string): Promise<Grant | null> {
    const id = runner.runner_instance_id;
    const inspection = this.#parts.inspections.take(id, runner.job_types);
    if (inspection !== null) return inspection;
    const claimed = await this.#desk.claim({ runner: id, claimId }, runner.job_types);
    if (claimed === null) return null;
    this.#parts.observer.claimed({
      ...claimed,
      runnerKind: runner.runner_kind,
      now: this.#parts.clock.now(),
    });
    return this.#grantOf(claimed);
  }

  #grantOf({ attempt, job, files }: Claimed): AttemptGrant {
    // Whom the plane tells is no business of a runner.
    const { callbacks: _, ...spec } = job.spec;
    return {
      kind: "attempt",
      attempt_id: attempt.id,
      job_id: job.id,
      epoch: attempt.epoch,
      lease_ms: this.#ttlMs,
      deadline_ms: Math.max(0, Math.floor(attempt.deadline - this.#parts.clock.now())),
      spec,
      files: [...files],
    };
  }

  async heartbeat(attemptId: string, beat: Heartbeat): Promise<HeartbeatAnswer> {
    const applied = await this.#parts.store.putHeartbeat({
      attemptId,
      heartbeat: beat,
      ttlMs: this.#ttlMs,
      now: this.#parts.clock.now(),
      ...this.#silence,
    });
    const attempt = this.#accepted(applied);
    this.#parts.observer.beat(attemptId, this.#parts.clock.now());
    await this.#hear(attempt.runner);
    const stopping = attempt.state === "cancelling" || this.#parts.clock.now() >= attempt.deadline;
    return { lease_ms: this.#ttlMs, cancel: stopping ? { grace_ms: attempt.graceMs } : null };
  }

  async move(attemptId: string, request: Move): Promise<HeartbeatAnswer> {
    const { epoch, to } = request;
    const attempt = this.#accepted(
      await this.#parts.store.applyStep({
        attemptId,
        command: { do: "move", epoch, to, ...this.#silence },
        now: this.#parts.clock.now(),
      }),
    );
    await this.#hear(attempt.runner);
    return {
      lease_ms: this.#ttlMs,
      cancel: attempt.state === "cancelling" ? { grace_ms: attempt.graceMs } : null,
    };
  }

  async events(attemptId: string, batch: EventBatch): Promise<void> {
    const code = await this.#parts.store.appendEvents({
      attemptId,
      ...batch,
      now: this.#parts.clock.now(),
      ...this.#limits,
    });
    if (code !== null) throw new AimError(code);
    this.#parts.signals.wake(eventsTopic(attemptId));
  }

  async complete(attemptId: string, sent: Completion): Promise<Attempt> {
    const { epoch, outcome, kill_confirmed: killConfirmed } = sent;
    checkManifest(attemptId, sent.manifest);
    const manifest = await keptManifest(sent.manifest, this.#parts.sizeOf);
    const completion = { ...sent, manifest };
    const manifestDigest = this.#parts.digest(canonicalJson(manifest));
    const report = {
      // Over what was sent: the same report is the same one, whatever is kept by then.
      digest: this.#parts.digest(canonicalJson(sent)),
      verdict: outcome.verdict,
      effect: outcome.effect,
      killConfirmed,
    };
    const command = { do: "complete", epoch, report, ...this.#silence } as const;
    const now = this.#parts.clock.now();
    const applied = await this.#parts.store.applyStep({
      attemptId,
      command,
      now,
      completion,
      manifestDigest,
    });
    return this.#accepted(applied);
  }

  async cancel(attemptId: string, audit?: AuditEntry): Promise<Attempt> {
    return this.#accepted(
      await this.#parts.store.applyStep({
        attemptId,
        command: { do: "cancel" },
        now: this.#parts.clock.now(),
        ...audited(audit),
      }),
    );
  }

  /** Ends what nobody holds any more. Safe to run at any time and twice. */
  async reap(): Promise<void> {
    const now = this.#parts.clock.now();
    const due = await this.#parts.store.dueAttempts({ now });
    for (const some of slices(due, REAPED_TOGETHER * REAPS_AT_ONCE)) {
      const reaped = slices(some, REAPED_TOGETHER).map((attemptIds) =>
        this.#parts.store.reapAttempts({ attemptIds, now, ...this.#silence }),
      );
      for (const applied of (await Promise.all(reaped)).flat()) this.#settle(applied);
    }
    await this.#parts.store.saveMoment({ now });
  }

  /** Recovery at start: leases get one ttl for the time in which nobody could extend them. */
  async recover(): Promise<void> {
    await this.#parts.store.grantGrace({ now: this.#parts.clock.now(), ttlMs: this.#ttlMs });
    point("recovery.middle");
    await this.reap();
    this.#recovered = true;
  }

  watch(onDefect: (error: unknown) => void): void {
    this.#timer = setInterval(() => {
      this.#reaping = this.#reaping
        .then(() => this.reap())
        .catch((error: unknown) => {
          // A full disk takes nothing away that was stored: looked at again in a moment.
          if (!(error instanceof AimError && error.code === "storage_full")) onDefect(error);
        });
    }, REAP_EVERY_MS);
  }

  /** Takes no job and hands nothing out from now on; what is handed out goes on. */
  stopAdmitting(): void {
    this.#admitting = false;
  }

  async stop(): Promise<void> {
    this.stopAdmitting();
    // Whoever waits for work is told that there will be none.
    this.#parts.signals.wake(CLAIM_TOPIC);
    clearInterval(this.#timer);
    await this.#reaping;
  }

  #accepted(applied: Applied | null): Attempt {
    if (applied === null) throw new AimError("not_found");
    this.#settle(applied);
    if (applied.code !== null) throw new AimError(applied.code satisfies ProblemCode);
    return applied.attempt;
  }

  #settle({ attempt, job, moved, told }: Applied): void {
    if (!moved) return;
    const known = attempt.runner === null ? undefined : this.#runners.get(attempt.runner);
    const runnerKind = known?.register.runner_kind ?? null;
    this.#parts.observer.moved({ attempt, job, runnerKind, now: this.#parts.clock.now() });
    if (told) this.#parts.signals.wake(OUTBOX_TOPIC);
    this.#parts.signals.wake(eventsTopic(attempt.id));
    if (isTerminal(attempt.state)) this.#parts.onEnd(attempt);
  }

  /** Notes that a runner was heard of, and learns whether another plane wants it to drain. */
  async #hear(id: string | null): Promise<void> {
    const known = id === null ? undefined : this.#runners.get(id);
    if (known === undefined) return;
    const now = this.#parts.clock.now();
    known.seen = now;
    if (now - known.noted < NOTE_RUNNER_MS) return;
    known.noted = now;
    const stored = await this.#parts.store.touchRunner({
      id: known.register.runner_instance_id,
      now,
    });
    known.draining ||= stored?.draining ?? false;
  }
}
