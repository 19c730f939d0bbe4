// A row of every kind that the schema of the previous issue (1 to 5) could hold.

type Value = string | number | null;
type Row = Readonly<Record<string, Value>>;

const JOB = `job_${"1".repeat(26)}`;
const RUN = `run_${"1".repeat(26)}`;
const LIVE = `run_${"2".repeat(26)}`;
const EVENT = `evt_${"1".repeat(26)}`;
const RUNNER = `rnr_${"1".repeat(26)}`;
const DIGEST = "a".repeat(64);
const AT = 1_800_000_000_000;

const SPEC = JSON.stringify({
  api_version: "1.0",
  job_type: "ansible.playbook.run",
  idempotency_key: "k1",
  customer: "acme",
  inputs: { hosts: ["one"] },
  source: { bundle_digest: DIGEST },
  secrets: {},
  destructive: false,
  timeout_s: 60,
  grace_s: 5,
  runner_requirements: {
    runner_kind: "process",
    network: [],
    memory_bytes: 1,
    disk_bytes: 1,
    pids: 1,
  },
  diagnostics: "off",
});

const attempt = (id: string, fields: Row): Row => ({
  id,
  job_id: JOB,
  customer_id: "acme",
  number: 1,
  job_type: "ansible.playbook.run",
  state: "succeeded",
  effect: "complete",
  evidence: "complete",
  kill_confirmed: 1,
  failure_category: null,
  remote_work: "started",
  epoch: 1,
  runner: RUNNER,
  claim_id: `clm_${id.slice(-26)}`,
  lease_expires_ms: AT + 30_000,
  deadline_ms: AT + 60_000,
  grace_ms: 5_000,
  created_ms: AT,
  started_ms: AT + 1,
  ended_ms: AT + 2,
  cancel_requested_ms: null,
  ever_running: 1,
  terminal_digest: DIGEST,
  last_sequence: 2,
  events_lost: 0,
  manifest_digest: DIGEST,
  result: `{"run_id":"${id}"}`,
  idempotency_key: null,
  ...fields,
});

/** In an order in which each row finds what it refers to. */
export const ROWS: readonly (readonly [table: string, row: Row])[] = [
  ["meta", { key: "latest_moment_ms", value: String(AT) }],
  ["bundles", { digest: DIGEST, customer_id: "acme", files: "[]" }],
  [
    "revisions",
    {
      revision: DIGEST,
      customer_id: "acme",
      playbook: "site",
      request: "{}",
      prepared: "{}",
      created_ms: AT,
      expires_ms: AT + 1,
      used_by: RUN,
      owner: "local",
    },
  ],
  [
    "jobs",
    {
      id: JOB,
      customer_id: "acme",
      playbook: "site",
      title: "O'Neill \u00e9",
      idempotency_key: "k1",
      request_digest: DIGEST,
      spec: SPEC,
      bundle_digest: DIGEST,
      created_ms: AT,
      owner: "ada",
    },
  ],
  ["attempts", attempt(RUN, {})],
  [
    "attempts",
    attempt(LIVE, {
      number: 2,
      state: "running",
      terminal_digest: null,
      manifest_digest: null,
      result: null,
      ended_ms: null,
      idempotency_key: "again",
    }),
  ],
  [
    "events",
    {
      attempt_id: RUN,
      sequence: 1,
      customer_id: "acme",
      event: `{"event_version":"1.0","run_id":"${RUN}","sequence":1,"timestamp":"2027-01-15T08:00:00.000000Z","kind":"stage","stage":"running"}`,
    },
  ],
  [
    "heartbeats",
    {
      attempt_id: RUN,
      epoch: 1,
      seq: 1,
      customer_id: "acme",
      at_ms: AT,
      phase: "running",
      last_event_sequence: 1,
      events_lost: 0,
    },
  ],
  ["late_reports", { attempt_id: RUN, customer_id: "acme", at_ms: AT, epoch: 1, digest: DIGEST }],
  [
    "seals",
    {
      attempt_id: RUN,
      customer_id: "acme",
      manifest_digest: DIGEST,
      envelope: "{}",
      sealed_ms: AT,
    },
  ],
  ["manifests", { digest: DIGEST, attempt_id: RUN, customer_id: "acme", manifest: `{"files":[]}` }],
  [
    "outbox",
    {
      id: EVENT,
      customer_id: "acme",
      attempt_id: RUN,
      sequence: 1,
      type: "attempt.accepted",
      body: "{}",
      created_ms: AT,
    },
  ],
  [
    "deliveries",
    {
      event_id: EVENT,
      callback_index: 0,
      customer_id: "acme",
      attempt_id: RUN,
      sequence: 1,
      url: "https://example.test/",
      state: "dead",
      tries: 3,
      since_ms: AT,
      next_try_ms: AT,
      last_status: 500,
      last_error: "status",
      claimed_by: null,
      claimed_until_ms: null,
    },
  ],
  [
    "runners",
    {
      id: RUNNER,
      customer_id: "",
      name: "local",
      runner_kind: "process",
      job_types: "[]",
      runtime: "{}",
      slots: 1,
      registered_ms: AT,
      seen_ms: AT,
      draining: 0,
    },
  ],
  [
    "usage",
    {
      attempt_id: RUN,
      cursor: null,
      customer_id: "acme",
      job_id: JOB,
      job_type: "ansible.playbook.run",
      runner_kind: "process",
      state: "succeeded",
      attempt_ms: 1,
      artifact_bytes: 0,
      ended_ms: AT,
    },
  ],
  ["projects", { id: "p1", customer_id: "local", definition: "{}" }],
  [
    "acceptances",
    {
      ansible_core: "2.19.11",
      callback_digest: DIGEST,
      customer_id: "",
      passed: 1,
      at_ms: AT,
    },
  ],
];

export function insertionOf([table, row]: (typeof ROWS)[number]): string {
  const literal = (value: Value) =>
    typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value ?? "NULL");
  const values = Object.values(row).map(literal).join(", ");
  return `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${values})`;
}
