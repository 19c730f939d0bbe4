// Execute: only what was reviewed, byte for byte, once.
import {
  AimError,
  canonicalJson,
  type NormalizedRequest,
  type OperationOf,
  type Principal,
} from "@aim/contract";
import { sha256 } from "../store/blobs.ts";
import type { Attempt } from "../execution/attempt.ts";
import { snapshot } from "./bundle.ts";
import { acceptJob } from "./jobs.ts";
import type { CoreParts } from "./parts.ts";
import { requireIn } from "./rights.ts";
import { entryDigest, type PreparedFacts } from "./prepare.ts";

/** Accepts a job for the revision and answers its attempt. From then on the run goes on by itself. */
export async function execute(
  parts: CoreParts,
  who: Principal,
  operation: OperationOf<"execute">,
): Promise<Attempt> {
  if (!parts.enabled) throw new AimError("not_enabled");
  const { request, revision } = operation;
  requireIn(who, "job.execute", { customer: request.customer, code: "unknown_customer" });
  const facts = await checkRevision(parts, request, revision);
  const entry = await checkContent(parts, request, facts);
  const accepted = await acceptJob(parts, who, {
    spec: { ...facts.spec, idempotency_key: revision },
    credentials: operation.credentials_id,
    title: entry.settings.title,
    playbook: request.playbook,
    revision,
    approvedBy: null,
  });
  // A used revision is never run again, not even by its own caller.
  if (!accepted.fresh) throw new AimError("revision_used");
  return accepted.attempt;
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
