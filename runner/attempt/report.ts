// Ends an attempt: proves that nothing is left, keeps the evidence, tells the plane until it has heard.
import { setTimeout as delay } from "node:timers/promises";
import {
  AimError,
  canonicalJson,
  type Completion,
  type Manifest,
  type Outcome,
} from "@aim/contract";
import { manifestOf } from "../bundle/artifacts.ts";
import type { RunnerParts } from "../parts.ts";
import { point } from "../point.ts";
import type { Attempt } from "./under-way.ts";
import { uploadAll } from "./upload.ts";

const RETRY_MS = 500;
const MARGIN_MS = 5_000;

export async function report(
  parts: RunnerParts,
  attempt: Attempt,
  outcome: Outcome,
): Promise<void> {
  const { grant, sandbox } = attempt;
  const proof = sandbox === null ? { killConfirmed: true } : await sandbox.destroy();
  await attempt.queue.close();
  keepRecords(attempt, outcome);
  const evidence = await uploadAll(parts.plane, attempt);
  point("artifacts.uploaded");
  const manifest = manifestOf({
    attemptId: grant.attempt_id,
    jobType: grant.spec.job_type,
    files: attempt.shelf.all().map(({ file }) => file),
    evidence: evidence === "complete" && !attempt.emitter.keptAll() ? "partial" : evidence,
    sandbox: sandboxFacts(attempt),
  });
  const completion: Completion = {
    epoch: grant.epoch,
    outcome,
    kill_confirmed: proof.killConfirmed,
    manifest,
    last_event_sequence: attempt.queue.lastSequence(),
    events_lost: attempt.queue.lost(),
  };
  await tell(parts, attempt, completion);
}

function keepRecords({ shelf, emitter }: Attempt, outcome: Outcome): void {
  shelf.keep("logs/stdout.log", "log", emitter.logText());
  shelf.keep("logs/stderr.log", "log", "");
  shelf.keep("events.jsonl", "events", emitter.eventsText());
  shelf.keep("result/result.json", "result", `${canonicalJson(outcome)}\n`);
}

function sandboxFacts({ sandbox }: Attempt): Manifest["sandbox"] {
  if (sandbox === null) {
    return { kind: "none", version: "", isolation: [], egress_allowed: 0, egress_denied: 0 };
  }
  const { isolation, egress } = sandbox;
  return {
    kind: isolation.kind,
    version: isolation.bubblewrap,
    isolation: [
      ...isolation.namespaces,
      `seccomp:${isolation.seccomp.sha256.slice(0, 16)}`,
      `cgroup:${isolation.cgroup}`,
      `network:${isolation.network}`,
    ],
    egress_allowed: egress.allowed,
    egress_denied: egress.denied,
  };
}

/** Repeats until the plane has answered: a completion that was accepted is answered the same again. */
async function tell(parts: RunnerParts, attempt: Attempt, completion: Completion): Promise<void> {
  // A plane that comes back gives every lease one more life; after that it would not listen.
  const until = performance.now() + 2 * attempt.grant.lease_ms + MARGIN_MS;
  while (!attempt.lost && performance.now() < until) {
    try {
      point("completion.before");
      await parts.plane.complete(attempt.grant.attempt_id, completion);
      point("completion.after");
      return;
    } catch (error) {
      if (error instanceof AimError) return parts.log("completion_refused", error);
      await delay(RETRY_MS);
    }
  }
}
