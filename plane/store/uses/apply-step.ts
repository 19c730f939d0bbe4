// Applies one command to one attempt: decide, write guarded by state and epoch, tell, in one transaction.
import {
  canonicalJson,
  isTerminal,
  type Completion,
  type ProblemCode,
  type RunResult,
} from "@aim/contract";
import type { Attempt, Job } from "../../execution/attempt.ts";
import { eventOfMove } from "../../execution/callback-event.ts";
import { resultOf } from "../../execution/result.ts";
import { step, type Command } from "../../execution/step.ts";
import type { Write } from "../transaction.ts";
import { attemptOf, jobOf, mutableColumns } from "./attempt-row.ts";
import { writeAudit, type Audited } from "./audit.ts";
import { closeJournal } from "./close-journal.ts";
import { tellCallbacks } from "./tell-callbacks.ts";
import { writeUsage } from "./usage.ts";

export interface ApplyStep extends Audited {
  readonly attemptId: string;
  readonly command: Command;
  readonly now: number;
  readonly completion?: Completion;
  readonly manifestDigest?: string;
}

export interface Applied {
  readonly attempt: Attempt;
  /** Why the command was refused, or null. */
  readonly code: ProblemCode | null;
  readonly moved: boolean;
  /** A callback is to be told. */
  readonly told: boolean;
  /** Of an attempt that started or ended; null where it was not read. */
  readonly job: Job | null;
}

/** Answers null when there is no such attempt. */
export async function applyStep(write: Write, use: ApplyStep): Promise<Applied | null> {
  const row = await write.rows
    .hold(write.db.selectFrom("attempts").selectAll().where("id", "=", use.attemptId))
    .executeTakeFirst();
  if (row === undefined) return null;
  const applied = await applyTo(write, use, attemptOf(row));
  if (applied.code === null) await writeAudit(write, use.audit);
  return applied;
}

export interface Reap extends Pick<Command, "silentCancel"> {
  readonly now: number;
  readonly attemptIds: readonly string[];
}

/** Ends those that nobody holds any more: many in one transaction, since after a long silence thousands may be due. */
export async function reapAttempts(write: Write, use: Reap): Promise<Applied[]> {
  const { attemptIds, now, ...policy } = use;
  const all: Applied[] = [];
  // In one order everywhere, so that planes which reap the same ones only wait for each other.
  for (const attemptId of attemptIds.toSorted()) {
    const applied = await applyStep(write, { attemptId, command: { do: "reap", ...policy }, now });
    if (applied !== null) all.push(applied);
  }
  return all;
}

/** The same for an attempt that this transaction holds already. */
export async function applyTo(write: Write, use: ApplyStep, before: Attempt): Promise<Applied> {
  const decision = step(before, use.command, use.now);
  const code = decision.ok ? null : decision.code;
  if (!decision.ok && decision.late && use.command.do === "complete")
    await keepLate(write, before, use);
  const stays = Object.keys(decision.changes).length === 0;
  if (stays) return { attempt: before, code, moved: false, told: false, job: null };
  let after: Attempt = { ...before, ...decision.changes };
  const name = eventOfMove(before.state, after.state);
  const job = name === null ? null : await readJob(write, after.jobId);
  if (job !== null && isTerminal(after.state)) {
    // A lease that was found over in the very call that completes: nothing of that report counts.
    const completion = decision.ok ? (use.completion ?? null) : null;
    after = await close(write, { ...use, job, completion }, after);
  }
  await writeGuarded(write, before, after);
  const told = await tellCallbacks(write, { name, attempt: after, job, now: use.now });
  return { attempt: after, code, moved: after.state !== before.state, told, job };
}

async function writeGuarded(write: Write, before: Attempt, after: Attempt): Promise<void> {
  const written = await write.db
    .updateTable("attempts")
    .set(mutableColumns(after))
    .where("id", "=", before.id)
    .where("state", "=", before.state)
    .where("epoch", "=", before.epoch)
    .executeTakeFirst();
  if (written.numUpdatedRows !== 1n) throw new Error(`attempt ${before.id} moved under our hands`);
}

async function readJob(write: Write, id: string): Promise<Job> {
  const row = await write.db
    .selectFrom("jobs")
    .selectAll()
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return jobOf(row);
}

async function keepLate(write: Write, attempt: Attempt, use: ApplyStep): Promise<void> {
  if (use.command.do !== "complete") return;
  await write.db
    .insertInto("late_reports")
    .values({
      attempt_id: attempt.id,
      customer_id: attempt.customer,
      at_ms: Math.round(use.now),
      epoch: use.command.epoch,
      digest: use.command.report.digest,
    })
    .execute();
}

interface Ending extends Omit<ApplyStep, "completion"> {
  readonly job: Job;
  readonly completion: Completion | null;
}

/** Completes a terminal attempt with its result, its last event and its manifest. */
async function close(write: Write, use: Ending, attempt: Attempt): Promise<Attempt> {
  const { completion } = use;
  const closed =
    completion === null
      ? withoutReport(attempt)
      : withReport(attempt, completion, use.manifestDigest ?? null);
  const facts = resultOf(closed, use.job.spec, completion);
  const journal = await closeJournal(write, {
    attempt: closed,
    error: facts.error?.code ?? null,
    // Without a report only what no runner ever had is whole.
    closed: completion !== null || closed.epoch === 0,
    now: use.now,
  });
  const result: RunResult = { ...facts, journal };
  if (completion !== null) await keepManifest(write, closed, completion);
  await writeUsage(write, {
    attempt: closed,
    job: use.job,
    manifest: completion?.manifest ?? null,
  });
  return { ...closed, result };
}

function withoutReport(attempt: Attempt): Attempt {
  return {
    ...attempt,
    lastSequence: attempt.lastSequence + 1,
    remoteWork: attempt.everRunning ? "possible" : "none",
  };
}

function withReport(
  attempt: Attempt,
  { outcome, ...completion }: Completion,
  manifestDigest: string | null,
): Attempt {
  return {
    ...attempt,
    lastSequence: Math.max(attempt.lastSequence, completion.last_event_sequence) + 1,
    eventsLost: completion.events_lost,
    evidence: completion.manifest.evidence,
    failureCategory: outcome.failure_category,
    remoteWork: outcome.remote_work,
    manifestDigest,
  };
}

async function keepManifest(write: Write, attempt: Attempt, completion: Completion): Promise<void> {
  if (attempt.manifestDigest === null) return;
  await write.db
    .insertInto("manifests")
    .values({
      digest: attempt.manifestDigest,
      attempt_id: attempt.id,
      customer_id: attempt.customer,
      manifest: canonicalJson(completion.manifest),
    })
    .execute();
}
