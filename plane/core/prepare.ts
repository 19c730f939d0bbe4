// Prepare: from a request to one revision and the review of it. Contacts no host, takes no credential.
import {
  AimError,
  canonicalJson,
  isProblemCode,
  type BundleFile,
  type JobSpec,
  type NetworkRule,
  type NormalizedRequest,
  type Prepared,
  type Principal,
  type Review,
  type RunRequest,
} from "@aim/contract";
import type { Inspection } from "@aim/drivers/kit";
import { allowed } from "../audit/chain.ts";
import { formatTimestamp } from "../base/clock.ts";
import { snapshot, type Snapshot } from "./bundle.ts";
import type { Entry } from "./catalog.ts";
import { checkVariables, inputsOf, jobTypeOf, normalize, slotsOf, specOf } from "./inputs.ts";
import type { CoreParts } from "./parts.ts";
import { requireIn } from "./rights.ts";

export const REVISION_TTL_MS = 3_600_000;

type Inspected = Extract<Inspection, { ok: true }>;

/** What execute finds again, compares and turns into a job. */
export interface PreparedFacts {
  readonly entry_digest: string;
  readonly bundle_digest: string;
  readonly controller: Inspected["controller"];
  readonly spec: JobSpec;
  readonly hosts: readonly string[];
  /** Executions before: a revision is used once, the same content prepared again is a new one. */
  readonly executed_before: number;
}

export async function prepare(
  parts: CoreParts,
  who: Principal,
  request: RunRequest,
): Promise<Prepared> {
  const { customer } = request;
  requireIn(who, "job.prepare", { customer, code: "unknown_customer" });
  const entry = await parts.findEntry(request.customer, request.playbook);
  const open = normalize(request);
  if (open.hosts.length === 0) throw new AimError("no_hosts", "/request/hosts");
  checkVariables(entry, open.variables);
  const taken = await snapshot(entry.trees, parts.blobs.put, parts.digest);
  const inspection = await inspect(parts, entry, { ...open, files: taken.files });
  const because = inspection.destructive_because;
  const destructive = (entry.settings.destructive ?? false) || because.length > 0;
  if (destructive && request.destructive === false && !open.check) {
    throw new AimError("destructive_not_marked", "/request/destructive");
  }
  const normalized: NormalizedRequest = {
    ...open,
    destructive: destructive || request.destructive === true,
  };
  const network = mergeRules(inspection.network, entry.settings.network ?? []);
  return settle(parts, { who, entry, normalized, taken, inspection, network });
}

interface Looked {
  readonly who: Principal;
  readonly entry: Entry;
  readonly normalized: NormalizedRequest;
  readonly taken: Snapshot;
  readonly inspection: Inspected;
  readonly network: readonly NetworkRule[];
}

/** Names what was looked at by its revision, keeps it and answers the review. */
async function settle(parts: CoreParts, looked: Looked): Promise<Prepared> {
  const { who, entry, normalized, taken, inspection } = looked;
  const network = [...looked.network];
  const spec = specOf({
    entry,
    request: normalized,
    bundleDigest: taken.digest,
    network,
    // Replaced at execute by the revision: one revision makes one job.
    idempotencyKey: "revision",
  });
  const facts: PreparedFacts = {
    entry_digest: entryDigest(parts, entry),
    bundle_digest: taken.digest,
    controller: inspection.controller,
    spec,
    hosts: inspection.hosts,
    executed_before: await parts.store.countExecuted(entry),
  };
  const revision = parts.digest(canonicalJson({ request: normalized, facts }));
  const created = parts.clock.now();
  const expires = created + REVISION_TTL_MS;
  const review: Review = {
    title: entry.settings.title,
    job_type: spec.job_type,
    source_digest: taken.digest,
    files: taken.files.length,
    hosts: [...normalized.hosts],
    changes: await changesOf(parts, normalized, taken.files),
    destructive: normalized.destructive,
    destructive_because: [...inspection.destructive_because],
    credential_slots: slotsOf(entry),
    secret_references: [],
    network,
    findings: [...inspection.findings],
    findings_omitted: inspection.findings_omitted,
    command: [...inspection.command],
    expires_at: formatTimestamp(expires),
    ...(await approvalOf(parts, entry, revision)),
  };
  await parts.store.saveRevision({
    bundleDigest: taken.digest,
    files: taken.files,
    revision: {
      revision,
      customer: entry.customer,
      playbook: entry.playbook,
      request: canonicalJson(normalized),
      prepared: canonicalJson(facts),
      created,
      expires,
      usedBy: null,
      owner: who.id,
      review: canonicalJson(review),
    },
    audit: allowed(who, {
      action: "job.prepare",
      customer: entry.customer,
      what: { revision, bundle_digest: taken.digest },
      now: created,
    }),
  });
  return { request: normalized, revision, review };
}

async function approvalOf(
  parts: CoreParts,
  entry: Entry,
  revision: string,
): Promise<Pick<Review, "approval">> {
  if (entry.settings.approval !== "required") return {};
  const approval = await parts.store.readApproval({ revision, now: parts.clock.now() });
  return { approval: { required: true, by: approval?.byName ?? null } };
}

/** What a catalog entry says, without where it lies on this machine. */
export function entryDigest(parts: CoreParts, entry: Entry): string {
  const { settings, inventory, playbookPath } = entry;
  return parts.digest(canonicalJson({ settings, inventory, playbookPath }));
}

export interface InspectRequest extends Omit<NormalizedRequest, "destructive"> {
  readonly files: readonly BundleFile[];
}

/** Asks a runner. Turns every refusal of the content into its problem. */
export async function inspect(
  parts: CoreParts,
  entry: Entry,
  { files, ...request }: InspectRequest,
): Promise<Inspected> {
  if (parts.dispatcher.readyRunner() === null) throw new AimError("runner_unavailable");
  const question = {
    jobType: jobTypeOf(entry, request.check),
    inputs: inputsOf(entry, request),
    files,
  };
  return inspectionOf((await parts.inspections.ask(question)) as Inspection);
}

/** The facts of an inspection; throws the problem for which it refused the content. */
export function inspectionOf(answer: Inspection): Inspected {
  if (answer.ok) return answer;
  const code = answer.code === "host_unknown" ? "unknown_host" : answer.code;
  throw new AimError(isProblemCode(code) ? code : "internal", answer.at ?? undefined);
}

function mergeRules(...lists: readonly (readonly NetworkRule[])[]): NetworkRule[] {
  const rules = new Map<string, NetworkRule>();
  for (const rule of lists.flat()) rules.set(canonicalJson(rule), rule);
  return [...rules.values()];
}

async function changesOf(
  parts: CoreParts,
  request: NormalizedRequest,
  files: readonly BundleFile[],
): Promise<Review["changes"]> {
  const { customer, playbook } = request;
  const last = await parts.store.lastExecuted({ customer, playbook });
  if (last === null) return null;
  const before = JSON.parse(last.request) as NormalizedRequest;
  const facts = JSON.parse(last.prepared) as PreparedFacts;
  const oldFiles = await parts.store.readBundle({ customer, digest: facts.bundle_digest });
  return {
    files_changed: differing(oldFiles ?? [], files),
    hosts_added: request.hosts.filter((host) => !before.hosts.includes(host)),
    hosts_removed: before.hosts.filter((host) => !request.hosts.includes(host)),
    variables_changed: [
      ...new Set([...Object.keys(before.variables), ...Object.keys(request.variables)]),
    ].filter(
      (name) => JSON.stringify(before.variables[name]) !== JSON.stringify(request.variables[name]),
    ),
    mode_changed: before.check !== request.check || before.progress_mode !== request.progress_mode,
  };
}

function differing(before: readonly BundleFile[], after: readonly BundleFile[]): string[] {
  const mark = (file: BundleFile) => `${file.sha256} ${String(file.executable)}`;
  const old = new Map(before.map((file) => [file.path, mark(file)]));
  const now = new Map(after.map((file) => [file.path, mark(file)]));
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((path) => old.get(path) !== now.get(path))
    .toSorted();
}
