// The first schema: jobs, attempts, their events and evidence, revisions, personal projects.
export const first: readonly string[] = [
  `CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL)`,
  `CREATE TABLE bundles (
     digest TEXT NOT NULL, customer_id TEXT NOT NULL, files TEXT NOT NULL,
     PRIMARY KEY (customer_id, digest))`,
  `CREATE TABLE revisions (
     revision TEXT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL, playbook TEXT NOT NULL,
     request TEXT NOT NULL, prepared TEXT NOT NULL,
     created_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL, used_by TEXT)`,
  `CREATE INDEX revisions_by_playbook ON revisions (customer_id, playbook, created_ms)`,
  `CREATE TABLE jobs (
     id TEXT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL, playbook TEXT NOT NULL, title TEXT NOT NULL,
     idempotency_key TEXT NOT NULL, request_digest TEXT NOT NULL, spec TEXT NOT NULL,
     bundle_digest TEXT NOT NULL, created_ms BIGINT NOT NULL,
     UNIQUE (customer_id, idempotency_key))`,
  `CREATE TABLE attempts (
     id TEXT PRIMARY KEY NOT NULL, job_id TEXT NOT NULL REFERENCES jobs (id), customer_id TEXT NOT NULL,
     number INTEGER NOT NULL, job_type TEXT NOT NULL, state TEXT NOT NULL, effect TEXT NOT NULL,
     evidence TEXT NOT NULL, kill_confirmed INTEGER NOT NULL, failure_category TEXT, remote_work TEXT NOT NULL,
     epoch INTEGER NOT NULL, runner TEXT, claim_id TEXT, lease_expires_ms BIGINT,
     deadline_ms BIGINT NOT NULL, grace_ms BIGINT NOT NULL, created_ms BIGINT NOT NULL,
     started_ms BIGINT, ended_ms BIGINT, cancel_requested_ms BIGINT, ever_running INTEGER NOT NULL,
     terminal_digest TEXT, last_sequence INTEGER NOT NULL, events_lost INTEGER NOT NULL,
     manifest_digest TEXT, result TEXT,
     UNIQUE (job_id, number))`,
  `CREATE UNIQUE INDEX one_live_attempt ON attempts (job_id)
     WHERE state IN ('queued', 'leased', 'preparing', 'running', 'finalizing', 'cancelling')`,
  `CREATE INDEX attempts_queued ON attempts (created_ms, id) WHERE state = 'queued'`,
  `CREATE INDEX attempts_by_age ON attempts (customer_id, created_ms)`,
  `CREATE TABLE events (
     attempt_id TEXT NOT NULL REFERENCES attempts (id), sequence INTEGER NOT NULL,
     customer_id TEXT NOT NULL, event TEXT NOT NULL, PRIMARY KEY (attempt_id, sequence))`,
  `CREATE TABLE heartbeats (
     attempt_id TEXT NOT NULL REFERENCES attempts (id), epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
     customer_id TEXT NOT NULL, at_ms BIGINT NOT NULL, phase TEXT NOT NULL,
     last_event_sequence INTEGER NOT NULL, events_lost INTEGER NOT NULL,
     PRIMARY KEY (attempt_id, epoch, seq))`,
  `CREATE TABLE late_reports (
     attempt_id TEXT NOT NULL REFERENCES attempts (id), customer_id TEXT NOT NULL, at_ms BIGINT NOT NULL,
     epoch INTEGER NOT NULL, digest TEXT NOT NULL)`,
  `CREATE TABLE manifests (
     digest TEXT NOT NULL, attempt_id TEXT PRIMARY KEY NOT NULL REFERENCES attempts (id),
     customer_id TEXT NOT NULL, manifest TEXT NOT NULL)`,
  `CREATE TABLE projects (
     id TEXT NOT NULL, customer_id TEXT NOT NULL, definition TEXT NOT NULL, PRIMARY KEY (customer_id, id))`,
  `CREATE TABLE acceptances (
     ansible_core TEXT NOT NULL, callback_digest TEXT NOT NULL, customer_id TEXT NOT NULL,
     passed INTEGER NOT NULL, at_ms BIGINT NOT NULL, PRIMARY KEY (ansible_core, callback_digest))`,
];

/** Rules that each dialect words in its own way; here for SQLite. */
export const firstSqlite: readonly string[] = [
  `CREATE TRIGGER terminal_attempts_stand BEFORE UPDATE ON attempts
     WHEN OLD.state IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'lost')
     BEGIN SELECT RAISE(ABORT, 'a terminal attempt never changes'); END`,
  `CREATE TRIGGER heartbeats_stand BEFORE UPDATE ON heartbeats
     BEGIN SELECT RAISE(ABORT, 'a heartbeat never changes'); END`,
];

/** The same rules for PostgreSQL. */
export const firstPostgres: readonly string[] = [
  `CREATE FUNCTION terminal_attempts_stand() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN RAISE EXCEPTION 'a terminal attempt never changes'; END $$`,
  `CREATE TRIGGER terminal_attempts_stand BEFORE UPDATE ON attempts FOR EACH ROW
     WHEN (OLD.state IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'lost'))
     EXECUTE FUNCTION terminal_attempts_stand()`,
  `CREATE FUNCTION heartbeats_stand() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN RAISE EXCEPTION 'a heartbeat never changes'; END $$`,
  `CREATE TRIGGER heartbeats_stand BEFORE UPDATE ON heartbeats FOR EACH ROW
     EXECUTE FUNCTION heartbeats_stand()`,
];
