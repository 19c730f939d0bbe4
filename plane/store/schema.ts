// The tables as the code sees them. Times are plane time in whole milliseconds; documents are canonical JSON text.
import type { Generated, Selectable } from "kysely";
import type { JournalRow } from "../journal/row.ts";

export interface Schema {
  meta: { key: string; value: string };
  bundles: { digest: string; customer_id: string; files: string };
  revisions: {
    revision: string;
    customer_id: string;
    playbook: string;
    request: string;
    /** What the plane must find unchanged at execute, and the job it then makes. */
    prepared: string;
    created_ms: number;
    expires_ms: number;
    used_by: string | null;
    owner: string;
    /** JSON of what was shown at the last preparation. */
    review: string;
  };
  jobs: {
    id: string;
    customer_id: string;
    playbook: string;
    title: string;
    idempotency_key: string;
    request_digest: string;
    spec: string;
    bundle_digest: string;
    created_ms: number;
    /** Id of the principal that asked for it. */
    owner: string;
    /** Name of whoever approved its revision; null where none had to. */
    approved_by: string | null;
  };
  attempts: {
    id: string;
    job_id: string;
    customer_id: string;
    number: number;
    job_type: string;
    state: string;
    effect: string;
    evidence: string;
    kill_confirmed: number;
    failure_category: string | null;
    remote_work: string;
    epoch: number;
    runner: string | null;
    claim_id: string | null;
    lease_expires_ms: number | null;
    deadline_ms: number;
    grace_ms: number;
    created_ms: number;
    started_ms: number | null;
    ended_ms: number | null;
    cancel_requested_ms: number | null;
    ever_running: number;
    terminal_digest: string | null;
    last_sequence: number;
    events_lost: number;
    manifest_digest: string | null;
    result: string | null;
    /** Of a retry; the first attempt has its job's. */
    idempotency_key: string | null;
  };
  journals: {
    id: Generated<number>;
    attempt_id: string;
    job_id: string;
    customer_id: string;
    /** Of the attempt within its job. */
    number: number;
    /** 1 where events of plays, tasks and hosts make the anonymous counters superfluous. */
    detail: number;
    /** Microseconds since 1970 from which the rows count. */
    base_us: number;
    /** `live`, `closed` or `unavailable`. */
    capture: string;
    max_events: number;
    max_bytes: number;
    /** The durable cursor. */
    last_sequence: number;
    first_sequence: number | null;
    /** Events that were ever stored, and those that still are. */
    stored: number;
    retained: number;
    bytes: number;
    omitted: number;
    omitted_from: number | null;
    omitted_to: number | null;
    lost: number;
    /** Losses that a gap accounts for. */
    placed: number;
    names: number;
    /** How many names were in use when that was last looked at. */
    names_kept: number;
    last_name: number;
    /** JSON; null where nothing was captured. */
    checkpoint: string | null;
  };
  /** What the columns mean is written in plane/journal/row.ts. */
  journal_events: JournalRow & { journal: number; bytes: number; customer_id: string };
  journal_names: { journal: number; id: number; hash: number; name: string; customer_id: string };
  journal_gaps: {
    journal: number;
    from_sequence: number;
    to_sequence: number;
    n: number;
    reason: string;
    customer_id: string;
  };
  deleted_jobs: { id: string; customer_id: string; idempotency_key: string; deleted_ms: number };
  heartbeats: {
    attempt_id: string;
    epoch: number;
    seq: number;
    customer_id: string;
    at_ms: number;
    phase: string;
    last_event_sequence: number;
    events_lost: number;
  };
  late_reports: {
    attempt_id: string;
    customer_id: string;
    at_ms: number;
    epoch: number;
    digest: string;
  };
  seals: {
    attempt_id: string;
    customer_id: string;
    manifest_digest: string;
    envelope: string;
    sealed_ms: number;
  };
  manifests: { digest: string; attempt_id: string; customer_id: string; manifest: string };
  outbox: {
    id: string;
    customer_id: string;
    attempt_id: string;
    sequence: number;
    type: string;
    /** Exactly the text that is sent, each time. */
    body: string;
    created_ms: number;
  };
  deliveries: {
    event_id: string;
    callback_index: number;
    customer_id: string;
    attempt_id: string;
    sequence: number;
    url: string;
    state: string;
    tries: number;
    /** From here on the time counts after which it is given up. */
    since_ms: number;
    next_try_ms: number;
    last_status: number | null;
    last_error: string | null;
    claimed_by: string | null;
    claimed_until_ms: number | null;
  };
  runners: {
    id: string;
    customer_id: string;
    name: string;
    runner_kind: string;
    /** JSON list. */
    job_types: string;
    /** JSON of its runtime facts. */
    runtime: string;
    slots: number;
    registered_ms: number;
    seen_ms: number;
    draining: number;
  };
  usage: {
    /** Null until the row is read for the first time. */
    cursor: number | null;
    attempt_id: string;
    customer_id: string;
    job_id: string;
    job_type: string;
    runner_kind: string | null;
    state: string;
    attempt_ms: number;
    artifact_bytes: number;
    ended_ms: number;
  };
  users: {
    id: string;
    name: string;
    /** Argon2id in its usual notation; null for whoever has no password here. */
    password_hash: string | null;
    oidc_issuer: string | null;
    oidc_subject: string | null;
    disabled: number;
    /** JSON list of granted roles. */
    roles: string;
    password_changed_ms: number;
    created_ms: number;
  };
  sessions: {
    /** SHA-256 of the id that only the browser has. */
    hash: string;
    user_id: string;
    created_ms: number;
    last_seen_ms: number;
    idle_expires_ms: number;
    absolute_expires_ms: number;
  };
  api_tokens: {
    id: string;
    /** SHA-256 of the whole token. */
    hash: string;
    name: string;
    /** Exactly one of user and service has it. */
    user_id: string | null;
    service: string | null;
    roles: string;
    created_ms: number;
    expires_ms: number;
    last_used_ms: number | null;
    revoked_ms: number | null;
  };
  sso_flows: {
    /** SHA-256 of the id that only the browser has. */
    hash: string;
    /** SHA-256 of the session that the browser had before; null for none. */
    replaces: string | null;
    /** Both null for a browser that wants a session. */
    port: number | null;
    challenge: string | null;
    expires_ms: number;
  };
  sso_codes: {
    /** SHA-256 of the code that only the program has. */
    hash: string;
    user_id: string;
    challenge: string;
    expires_ms: number;
  };
  sso_sids: {
    /** Digest of a session's name at the identity provider. */
    sid: string;
    user_id: string;
    expires_ms: number;
  };
  sso_logouts: {
    /** Digests of what stood in the logout token. */
    jti: string;
    subject: string | null;
    sid: string | null;
    at_ms: number;
    expires_ms: number;
  };
  setup_codes: {
    hash: string;
    /** Null for the code of the first administrator, who is not there yet. */
    user_id: string | null;
    expires_ms: number;
  };
  approvals: {
    revision: string;
    customer_id: string;
    approved_by: string;
    approved_by_name: string;
    approved_ms: number;
    /** End of the revision as it was approved: one that is prepared again later is approved again. */
    expires_ms: number;
  };
  audit: {
    position: number;
    /** Empty for what belongs to no customer. */
    customer_id: string;
    at_ms: number;
    principal_kind: string | null;
    principal_id: string | null;
    principal_name: string | null;
    action: string;
    outcome: string;
    what: string;
    detail: string;
    previous: string;
    hash: string;
  };
  projects: { id: string; customer_id: string; definition: string };
  acceptances: {
    ansible_core: string;
    callback_digest: string;
    customer_id: string;
    passed: number;
    at_ms: number;
  };
}

export type StoredJournal = Selectable<Schema["journals"]>;
