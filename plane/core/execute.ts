// Execute: only what was reviewed, byte for byte, once.
import {
  AimError,
  canonicalJson,
  type JobSpec,
  type NormalizedRequest,
  type OperationOf,
} from "@aim/contract";
import { sha256 } from "../store/blobs.ts";
import { waitingAttempt, type Attempt } from "../execution/attempt.ts";
import { CLAIM_TOPIC, OUTBOX_TOPIC } from "../execution/dispatcher.ts";
import { snapshot } from "./bundle.ts";
import { slotsOf } from "./inputs.ts";
import type { CoreParts } from "./parts.ts";
import { entryDigest, type PreparedFacts } from "./prepare.ts";

/** Accepts a job for the revision and answers its attempt. From then on the run goes on by itself. */
export async function execute(
  parts: CoreParts,
  operation: OperationOf<"execute">,
): Promise<Attempt> {
  if (!parts.enabled) throw new AimError("not_enabled");
  const { request, revision } = operation;
  const facts = await checkRevision(parts, request, revision);
  const entry = await checkContent(parts, request, facts);
  const spec: JobSpec = { ...facts.spec, idempotency_key: revision };
  const now = parts.clock.now();
  const attempt = newAttempt(parts, spec, now);
  parts.credentials.assign(operation.credentials_id, attempt.id, slotsOf(entry));
  try {
    const created = await parts.store.createJob({
      revision,
      attempt,
      job: {
        id: attempt.jobId,
        customer: spec.customer,
        playbook: request.playbook,
        title: entry.settings.title,
        idempotencyKey: spec.idempotency_key,
        requestDigest: parts.digest(canonicalJson(spec)),
        spec,
        bundleDigest: facts.bundle_digest,
        created: now,
      },
    });
    if (!created.ok) throw new AimError(created.code);
    // A used revision is never run again, not even by its own caller.
    if (created.attempt.id !== attempt.id) throw new AimError("revision_used");
    if (created.told) parts.signals.wake(OUTBOX_TOPIC);
  } catch (error) {
    parts.credentials.drop(attempt.id);
    throw error;
  }
  parts.signals.wake(CLAIM_TOPIC);
  return attempt;
}

async function checkRevision(
  parts: CoreParts,
  request: NormalizedRequest,
  revision: string,
): Promise<PreparedFacts> {
  const stored = await parts.store.readRevision({ revision });
  if (stored === null || stored.request !== canonicalJson(request)) {
    throw new AimError("stale_revision");
  }
  if (stored.usedBy !== null) throw new AimError("revision_used");
  if (parts.clock.now() >= stored.expires) throw new AimError("revision_expired");
  return JSON.parse(stored.prepared) as PreparedFacts;
}

/** Everything that decides what runs must be what it was at the review. */
async function checkContent(parts: CoreParts, request: NormalizedRequest, facts: PreparedFacts) {
  const entry = await parts.findEntry(request.customer, request.playbook);
  const runner = parts.dispatcher.readyRunner();
  if (runner === null) throw new AimError("runner_unavailable");
  const now = await snapshot(entry.trees, sha256, parts.digest).catch((error: unknown) => {
    throw new AimError("stale_revision", undefined, { cause: error });
  });
  const same =
    now.digest === facts.bundle_digest &&
    entryDigest(parts, entry) === facts.entry_digest &&
    runner.runtime.ansible_core === facts.controller.ansible_core &&
    runner.runtime.callback_digest === facts.controller.callback_digest;
  if (!same) throw new AimError("stale_revision");
  return entry;
}

function newAttempt(parts: CoreParts, spec: JobSpec, now: number): Attempt {
  return waitingAttempt({
    id: parts.newId("run"),
    jobId: parts.newId("job"),
    customer: spec.customer,
    number: 1,
    deadline: now + spec.timeout_s * 1000,
    graceMs: spec.grace_s * 1000,
    created: now,
  });
}
