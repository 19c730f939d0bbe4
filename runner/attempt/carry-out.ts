// Carries one granted attempt out: one sandbox, one tool, one report. Whatever happens, nothing of it is left running.
import { randomBytes } from "node:crypto";
import { AimError, type AttemptGrant, type Outcome } from "@aim/contract";
import { DRIVERS } from "@aim/drivers/drivers";
import type { AttemptContext, ToolCall, ToolRun } from "@aim/drivers/kit";
import { createShelf } from "../bundle/artifacts.ts";
import { fillWorkspace, type Workspace } from "../bundle/workspace.ts";
import { createCaptureQueue } from "../capture/queue.ts";
import type { RunnerParts } from "../parts.ts";
import { point } from "../point.ts";
import { createEventClock } from "./clock.ts";
import { createEmitter } from "./emitter.ts";
import { failedOutcome, Stopped } from "./failed.ts";
import { report } from "./report.ts";
import { patiently } from "./patience.ts";
import { startTool } from "./tool.ts";
import type { Attempt } from "./under-way.ts";

const CLOCKS_DIFFER_MS = 500;

export async function carryOut(parts: RunnerParts, grant: AttemptGrant): Promise<void> {
  point("attempt.claimed");
  const attempt = begin(parts, grant);
  const lease = parts.leases.keep({
    attemptId: grant.attempt_id,
    epoch: grant.epoch,
    leaseMs: grant.lease_ms,
    counters: () => ({
      phase: attempt.phase,
      last_event_sequence: attempt.queue.lastSequence(),
      events_lost: attempt.queue.lost(),
    }),
    onExtended: (ms) => {
      attempt.leaseUntil = performance.now() + ms;
      attempt.sandbox?.extendDeadline(ms);
    },
    onCancel: (graceMs) => stopTool(attempt, graceMs),
    onLost: () => {
      attempt.lost = true;
      void attempt.sandbox?.destroy();
    },
  });
  try {
    const outcome = await outcomeOf(parts, attempt);
    await report(parts, attempt, outcome);
  } finally {
    lease.stop();
    await attempt.sandbox?.destroy();
  }
}

function begin(parts: RunnerParts, grant: AttemptGrant): Attempt {
  const { attempt_id: id, epoch } = grant;
  const timestamp = createEventClock();
  const queue = createCaptureQueue((events, lost) =>
    parts.plane.events(id, { epoch, events: [...events], lost }).then(() => undefined),
  );
  return {
    grant,
    queue,
    timestamp,
    emitter: createEmitter(id, queue, timestamp),
    shelf: createShelf(),
    deadline: performance.now() + grant.deadline_ms,
    leaseUntil: performance.now() + grant.lease_ms,
    sandbox: null,
    tool: null,
    stop: null,
    graceMs: grant.spec.grace_s * 1000,
    lost: false,
    phase: "preparing",
  };
}

async function outcomeOf(parts: RunnerParts, attempt: Attempt): Promise<Outcome> {
  const { spec } = attempt.grant;
  try {
    const driver = DRIVERS.get(spec.job_type);
    if (driver === undefined) throw new Error(`no driver for ${spec.job_type}`);
    await moveTo(parts, attempt, "preparing");
    const sandbox = await parts.sandboxes.open(sandboxId(attempt), spec.runner_requirements);
    attempt.sandbox = sandbox;
    point("sandbox.opened");
    sandbox.extendDeadline(Math.max(0, attempt.leaseUntil - performance.now()));
    const workspace = await fillWorkspace(
      {
        root: sandbox.workspace,
        uid: parts.sandboxes.config.uid,
        fetch: (sha256) => patiently(attempt, () => parts.plane.blob(sha256)),
      },
      attempt.grant.files,
    );
    const credentials = await takeCredentials(parts, attempt);
    sandbox.allowEgress(spec.runner_requirements.network);
    return await driver.run(contextOf(parts, attempt, { workspace, credentials }));
  } catch (error) {
    if (!(error instanceof Stopped)) parts.log("attempt_failed", error);
    return failedOutcome(spec, { error, stop: attempt.stop, started: attempt.tool !== null });
  }
}

/** One name a lease: a later lease of the same attempt never meets its sandbox. */
function sandboxId({ grant }: Attempt): string {
  return `${grant.attempt_id}-${grant.epoch}`;
}

async function takeCredentials(
  parts: RunnerParts,
  { grant }: Attempt,
): Promise<Map<string, Uint8Array>> {
  if (Object.keys(grant.spec.secrets).length === 0) return new Map();
  const taken = await parts.plane.takeCredentials(grant.attempt_id, grant.epoch);
  return new Map(Object.entries(taken).map(([slot, value]) => [slot, Buffer.from(value)]));
}

interface Filled {
  readonly workspace: Workspace;
  readonly credentials: ReadonlyMap<string, Uint8Array>;
}

function contextOf(parts: RunnerParts, attempt: Attempt, filled: Filled): AttemptContext {
  const { workspace, credentials } = filled;
  return {
    attemptId: attempt.grant.attempt_id,
    spec: attempt.grant.spec,
    toolchain: parts.toolchain.inside,
    files: workspace.files,
    readFile: workspace.read,
    writeFile: workspace.write,
    credentials,
    nonce: () => randomBytes(16).toString("hex"),
    timestamp: attempt.timestamp,
    emit: attempt.emitter.emit,
    keep: attempt.shelf.keep,
    move: (to) => moveTo(parts, attempt, to),
    stopReason: () => attempt.stop,
    startTool: (call) => start(attempt, call),
  };
}

async function start(attempt: Attempt, call: ToolCall): Promise<ToolRun> {
  const remaining = Math.floor(attempt.deadline - performance.now());
  if (remaining <= 0) attempt.stop ??= "timed_out";
  if (attempt.stop !== null || attempt.sandbox === null) throw new Stopped();
  const tool = await startTool(attempt.sandbox, call, {
    timeoutMs: remaining,
    graceMs: attempt.graceMs,
  });
  attempt.tool = tool;
  point("tool.started");
  void tool.run.exit.then(() => point("tool.ended"));
  // A stop that came while the tool was starting has not reached it yet.
  if (attempt.stop !== null) void tool.process.stop(attempt.graceMs);
  return tool.run;
}

async function moveTo(
  parts: RunnerParts,
  attempt: Attempt,
  to: "preparing" | "running" | "finalizing",
): Promise<void> {
  const { attempt_id: id, epoch } = attempt.grant;
  const move = () => parts.plane.move(id, { epoch, to });
  const answer = await patiently(attempt, move).catch((error: unknown) => {
    // Moving on after a stop was asked for is refused, perhaps before a beat told of it; the tool must not be started.
    if (error instanceof AimError && error.code === "state_conflict") {
      stopTool(attempt, attempt.graceMs);
    }
    if (attempt.stop !== null) throw new Stopped();
    throw error;
  });
  attempt.phase = to;
  attempt.emitter.emit({ kind: "stage", stage: to });
  if (answer.cancel !== null) stopTool(attempt, answer.cancel.grace_ms);
}

function stopTool(attempt: Attempt, graceMs: number): void {
  // The plane's clock may be a little ahead of ours: what stops beside the deadline was stopped by it.
  const beside = performance.now() >= attempt.deadline - CLOCKS_DIFFER_MS;
  attempt.stop ??= beside ? "timed_out" : "cancelled";
  attempt.graceMs = graceMs;
  attempt.phase = "stopping";
  void attempt.tool?.process.stop(graceMs);
}
