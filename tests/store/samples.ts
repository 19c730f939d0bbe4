// Honest defaults for store tests.
import { newId } from "../../plane/base/ids.ts";
import { waitingAttempt, type Attempt, type Job } from "../../plane/execution/attempt.ts";
import type { Store } from "../../plane/store/store.ts";
import type { StoredUser } from "../../plane/store/uses/users.ts";
import type { Completion, JobSpec, RunEvent } from "@aim/contract";

export const NOW = 1_800_000_000_000;
export const TTL_MS = 30_000;
export const DIGEST = "a".repeat(64);

export const SPEC: JobSpec = {
  api_version: "1.0",
  job_type: "ansible.playbook.run",
  idempotency_key: "key",
  customer: "acme",
  inputs: { hosts: ["one", "two"] },
  source: { bundle_digest: DIGEST },
  secrets: {},
  destructive: false,
  timeout_s: 60,
  grace_s: 5,
  runner_requirements: {
    runner_kind: "process",
    network: [],
    memory_bytes: 2 ** 30,
    disk_bytes: 2 ** 30,
    pids: 100,
  },
  diagnostics: "off",
};

/** What a job that names a playbook of its bundle says. */
export const INPUTS = {
  playbook: "project/site.yml",
  inventory: ["project/hosts.ini"],
  hosts: ["one"],
  variables: {},
  progress_mode: "detail",
  credential_slots: [] as readonly string[],
  tags: [],
  skip_tags: [],
  forks: 5,
  user: null,
  become: false,
  operation_result: null,
} as const;

/** Sees everything. */
export const ALL_JOBS = { customers: null, ownIn: [], principal: "local" } as const;

export const aUser = (name: string, fields: Partial<StoredUser> = {}): StoredUser => ({
  id: newId("usr"),
  name,
  passwordHash: null,
  oidc: null,
  disabled: false,
  roles: [{ role: "viewer", customer: "acme", job_types: null }],
  passwordChanged: NOW,
  created: NOW,
  ...fields,
});

export function anAttempt(job: Job, fields: Partial<Attempt> = {}): Attempt {
  const waiting = waitingAttempt({
    id: newId("run"),
    jobId: job.id,
    customer: job.customer,
    number: 1,
    deadline: NOW + 60_000,
    graceMs: 5_000,
    created: NOW,
  });
  return { ...waiting, ...fields };
}

export function aJob(key: string): Job {
  return {
    id: newId("job"),
    customer: "acme",
    playbook: "site",
    title: "A playbook",
    idempotencyKey: key,
    requestDigest: DIGEST,
    spec: { ...SPEC, idempotency_key: key },
    bundleDigest: DIGEST,
    created: NOW,
    owner: "local",
    approvedBy: null,
  };
}

/** Stores a prepared revision that a job may use up. */
export async function saveRevision(store: Store, revision: string): Promise<void> {
  await store.saveRevision({
    bundleDigest: DIGEST,
    files: [],
    revision: {
      revision,
      customer: "acme",
      playbook: "site",
      request: "{}",
      prepared: "{}",
      created: NOW,
      expires: NOW + 1_000,
      usedBy: null,
      owner: "local",
      review: '{"job_type":"ansible.playbook.run"}',
    },
  });
}

/** A job that waits for a runner; answers its attempt. */
export async function enqueue(store: Store, key: string): Promise<Attempt> {
  await saveRevision(store, key);
  const job = aJob(key);
  const attempt = anAttempt(job);
  const created = await store.createJob({ job, attempt, revision: key });
  if (!created.ok) throw new Error(created.code);
  return created.attempt;
}

export function anEvent(attempt: Attempt, sequence: number): RunEvent {
  return {
    event_version: "1.0",
    run_id: attempt.id,
    sequence,
    timestamp: "2026-01-01T00:00:00.000000Z",
    kind: "stage",
    stage: "running",
  };
}

export function aCompletion(epoch: number, fields: Partial<Completion> = {}): Completion {
  return {
    epoch,
    kill_confirmed: true,
    last_event_sequence: 0,
    events_lost: 0,
    outcome: {
      verdict: "succeeded",
      effect: "complete",
      remote_work: "started",
      failure_category: null,
      error: null,
      stats: null,
      targets: [],
      target_summary: {
        schema: "target_outcome_summary_v1",
        requested: 0,
        succeeded: 0,
        changed: 0,
        failed: 0,
        unreachable: 0,
        skipped: 0,
        not_reached: 0,
        unknown: 0,
      },
      operation_result: null,
      change_evidence: [],
    },
    manifest: {
      manifest_version: "1.0",
      attempt_id: `run_${"0".repeat(26)}`,
      job_type: SPEC.job_type,
      files: [],
      redaction: { applied: false, rules_version: 1, masked: 0, weak: false },
      sandbox: { kind: "process", version: "", isolation: [], egress_allowed: 0, egress_denied: 0 },
      evidence: "complete",
    },
    ...fields,
  };
}
