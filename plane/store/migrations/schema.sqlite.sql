CREATE TABLE acceptances (
  ansible_core TEXT NOT NULL, callback_digest TEXT NOT NULL, customer_id TEXT NOT NULL,
  passed INTEGER NOT NULL, at_ms BIGINT NOT NULL, PRIMARY KEY (ansible_core, callback_digest));

CREATE TABLE api_tokens (
  id TEXT PRIMARY KEY NOT NULL, hash TEXT NOT NULL, name TEXT NOT NULL,
  user_id TEXT REFERENCES users (id), service TEXT, roles TEXT NOT NULL,
  created_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL, last_used_ms BIGINT, revoked_ms BIGINT,
  CHECK ((user_id IS NULL) <> (service IS NULL)));

CREATE INDEX api_tokens_by_end ON api_tokens (expires_ms);

CREATE INDEX api_tokens_by_user ON api_tokens (user_id, id);

CREATE TABLE approvals (
  revision TEXT PRIMARY KEY NOT NULL REFERENCES revisions (revision), customer_id TEXT NOT NULL,
  approved_by TEXT NOT NULL, approved_by_name TEXT NOT NULL,
  approved_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL);

CREATE TABLE attempts (
  id TEXT PRIMARY KEY NOT NULL, job_id TEXT NOT NULL REFERENCES jobs (id), customer_id TEXT NOT NULL,
  number INTEGER NOT NULL, job_type TEXT NOT NULL, state TEXT NOT NULL, effect TEXT NOT NULL,
  evidence TEXT NOT NULL, kill_confirmed INTEGER NOT NULL, failure_category TEXT, remote_work TEXT NOT NULL,
  epoch INTEGER NOT NULL, runner TEXT, claim_id TEXT, lease_expires_ms BIGINT,
  deadline_ms BIGINT NOT NULL, grace_ms BIGINT NOT NULL, created_ms BIGINT NOT NULL,
  started_ms BIGINT, ended_ms BIGINT, cancel_requested_ms BIGINT, ever_running INTEGER NOT NULL,
  terminal_digest TEXT, last_sequence INTEGER NOT NULL, events_lost INTEGER NOT NULL,
  manifest_digest TEXT, result TEXT, idempotency_key TEXT,
  UNIQUE (job_id, number));

CREATE INDEX attempts_by_age ON attempts (customer_id, created_ms);

CREATE UNIQUE INDEX attempts_by_claim ON attempts (claim_id) WHERE claim_id IS NOT NULL;

CREATE INDEX attempts_by_deadline ON attempts (deadline_ms) WHERE state = 'queued';

CREATE UNIQUE INDEX attempts_by_key ON attempts (job_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

CREATE INDEX attempts_held ON attempts (runner)
  WHERE state IN ('leased', 'preparing', 'running', 'finalizing', 'cancelling');

CREATE INDEX attempts_queued ON attempts (created_ms, id) WHERE state = 'queued';

CREATE UNIQUE INDEX one_live_attempt ON attempts (job_id)
  WHERE state IN ('queued', 'leased', 'preparing', 'running', 'finalizing', 'cancelling');

CREATE TRIGGER terminal_attempts_stand BEFORE UPDATE ON attempts
  WHEN OLD.state IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'lost')
  BEGIN SELECT RAISE(ABORT, 'a terminal attempt never changes'); END;

CREATE TABLE audit (
  position BIGINT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL, at_ms BIGINT NOT NULL,
  principal_kind TEXT, principal_id TEXT, principal_name TEXT,
  action TEXT NOT NULL, outcome TEXT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL,
  previous TEXT NOT NULL, hash TEXT NOT NULL);

CREATE TRIGGER audit_stands_delete BEFORE DELETE ON audit
  BEGIN SELECT RAISE(ABORT, 'the audit never changes'); END;

CREATE TRIGGER audit_stands_update BEFORE UPDATE ON audit
  BEGIN SELECT RAISE(ABORT, 'the audit never changes'); END;

CREATE TABLE bundles (
  digest TEXT NOT NULL, customer_id TEXT NOT NULL, files TEXT NOT NULL,
  PRIMARY KEY (customer_id, digest));

CREATE TABLE deleted_jobs (
  id TEXT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL, idempotency_key TEXT NOT NULL,
  deleted_ms BIGINT NOT NULL, UNIQUE (customer_id, idempotency_key));

CREATE TABLE deliveries (
  event_id TEXT NOT NULL REFERENCES outbox (id), callback_index INTEGER NOT NULL,
  customer_id TEXT NOT NULL, attempt_id TEXT NOT NULL, sequence INTEGER NOT NULL,
  url TEXT NOT NULL, state TEXT NOT NULL, tries INTEGER NOT NULL,
  since_ms BIGINT NOT NULL, next_try_ms BIGINT NOT NULL,
  last_status INTEGER, last_error TEXT, claimed_by TEXT, claimed_until_ms BIGINT,
  PRIMARY KEY (event_id, callback_index));

CREATE INDEX deliveries_dead ON deliveries (since_ms) WHERE state = 'dead';

CREATE INDEX deliveries_due ON deliveries (next_try_ms) WHERE state = 'waiting';

CREATE INDEX deliveries_in_order ON deliveries (attempt_id, callback_index, sequence);

CREATE TABLE heartbeats (
  attempt_id TEXT NOT NULL REFERENCES attempts (id), epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
  customer_id TEXT NOT NULL, at_ms BIGINT NOT NULL, phase TEXT NOT NULL,
  last_event_sequence INTEGER NOT NULL, events_lost INTEGER NOT NULL,
  PRIMARY KEY (attempt_id, epoch, seq));

CREATE TRIGGER heartbeats_stand BEFORE UPDATE ON heartbeats
  BEGIN SELECT RAISE(ABORT, 'a heartbeat never changes'); END;

CREATE TABLE jobs (
  id TEXT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL, playbook TEXT NOT NULL, title TEXT NOT NULL,
  idempotency_key TEXT NOT NULL, request_digest TEXT NOT NULL, spec TEXT NOT NULL,
  bundle_digest TEXT NOT NULL, created_ms BIGINT NOT NULL, owner TEXT NOT NULL DEFAULT 'local', approved_by TEXT,
  UNIQUE (customer_id, idempotency_key));

CREATE INDEX jobs_by_customer ON jobs (customer_id, id);

CREATE INDEX jobs_by_owner ON jobs (customer_id, owner, id);

CREATE TABLE journal_events (
  journal INTEGER NOT NULL REFERENCES journals (id) ON DELETE CASCADE, sequence INTEGER NOT NULL, at BIGINT NOT NULL, delay BIGINT NOT NULL,
  kind INTEGER NOT NULL, play BIGINT, task BIGINT, name INTEGER, detail BIGINT, more TEXT,
  bytes INTEGER NOT NULL, customer_id TEXT NOT NULL, PRIMARY KEY (journal, sequence)) WITHOUT ROWID;

CREATE TABLE journal_gaps (
  journal INTEGER NOT NULL REFERENCES journals (id) ON DELETE CASCADE, from_sequence INTEGER NOT NULL, to_sequence INTEGER NOT NULL, n INTEGER NOT NULL,
  reason TEXT NOT NULL, customer_id TEXT NOT NULL, PRIMARY KEY (journal, from_sequence)) WITHOUT ROWID;

CREATE TABLE journal_names (
  journal INTEGER NOT NULL REFERENCES journals (id) ON DELETE CASCADE, id INTEGER NOT NULL, hash BIGINT NOT NULL, name TEXT NOT NULL,
  customer_id TEXT NOT NULL, PRIMARY KEY (journal, id)) WITHOUT ROWID;

CREATE INDEX journal_names_by_hash ON journal_names (journal, hash);

CREATE TABLE journals (
  id INTEGER PRIMARY KEY AUTOINCREMENT, attempt_id TEXT NOT NULL UNIQUE REFERENCES attempts (id), job_id TEXT NOT NULL,
  customer_id TEXT NOT NULL, number INTEGER NOT NULL, detail INTEGER NOT NULL, base_us BIGINT NOT NULL,
  capture TEXT NOT NULL, max_events INTEGER NOT NULL, max_bytes INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL, first_sequence INTEGER, stored INTEGER NOT NULL,
  retained INTEGER NOT NULL, bytes BIGINT NOT NULL,
  omitted INTEGER NOT NULL, omitted_from INTEGER, omitted_to INTEGER,
  lost INTEGER NOT NULL, placed INTEGER NOT NULL,
  names INTEGER NOT NULL, names_kept INTEGER NOT NULL, last_name INTEGER NOT NULL, checkpoint TEXT);

CREATE INDEX journals_by_job ON journals (job_id, number);

CREATE TABLE late_reports (
  attempt_id TEXT NOT NULL REFERENCES attempts (id), customer_id TEXT NOT NULL, at_ms BIGINT NOT NULL,
  epoch INTEGER NOT NULL, digest TEXT NOT NULL);

CREATE TABLE manifests (
  digest TEXT NOT NULL, attempt_id TEXT PRIMARY KEY NOT NULL REFERENCES attempts (id),
  customer_id TEXT NOT NULL, manifest TEXT NOT NULL);

CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);

CREATE TABLE outbox (
  id TEXT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL,
  attempt_id TEXT NOT NULL REFERENCES attempts (id), sequence INTEGER NOT NULL,
  type TEXT NOT NULL, body TEXT NOT NULL, created_ms BIGINT NOT NULL,
  UNIQUE (attempt_id, sequence));

CREATE INDEX outbox_by_age ON outbox (created_ms);

CREATE TRIGGER outbox_stands BEFORE UPDATE ON outbox
  BEGIN SELECT RAISE(ABORT, 'a told event never changes'); END;

CREATE TABLE projects (
  id TEXT NOT NULL, customer_id TEXT NOT NULL, definition TEXT NOT NULL, PRIMARY KEY (customer_id, id));

CREATE TABLE revisions (
  revision TEXT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL, playbook TEXT NOT NULL,
  request TEXT NOT NULL, prepared TEXT NOT NULL,
  created_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL, used_by TEXT, owner TEXT NOT NULL DEFAULT 'local', review TEXT NOT NULL DEFAULT '{}');

CREATE INDEX revisions_by_playbook ON revisions (customer_id, playbook, created_ms);

CREATE TABLE runners (
  id TEXT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL, name TEXT NOT NULL,
  runner_kind TEXT NOT NULL, job_types TEXT NOT NULL, runtime TEXT NOT NULL, slots INTEGER NOT NULL,
  registered_ms BIGINT NOT NULL, seen_ms BIGINT NOT NULL, draining INTEGER NOT NULL);

CREATE INDEX runners_by_age ON runners (seen_ms);

CREATE TABLE seals (
  attempt_id TEXT PRIMARY KEY NOT NULL REFERENCES attempts (id), customer_id TEXT NOT NULL,
  manifest_digest TEXT NOT NULL, envelope TEXT NOT NULL, sealed_ms BIGINT NOT NULL);

CREATE TRIGGER seals_stand BEFORE UPDATE ON seals
  BEGIN SELECT RAISE(ABORT, 'a seal never changes'); END;

CREATE TABLE sessions (
  hash TEXT PRIMARY KEY NOT NULL, user_id TEXT NOT NULL REFERENCES users (id),
  created_ms BIGINT NOT NULL, last_seen_ms BIGINT NOT NULL,
  idle_expires_ms BIGINT NOT NULL, absolute_expires_ms BIGINT NOT NULL);

CREATE INDEX sessions_by_end ON sessions (absolute_expires_ms);

CREATE INDEX sessions_by_user ON sessions (user_id);

CREATE TABLE setup_codes (
  hash TEXT PRIMARY KEY NOT NULL, user_id TEXT UNIQUE REFERENCES users (id), expires_ms BIGINT NOT NULL);

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE sso_codes (
  hash TEXT PRIMARY KEY NOT NULL, user_id TEXT NOT NULL REFERENCES users (id),
  challenge TEXT NOT NULL, expires_ms BIGINT NOT NULL);

CREATE INDEX sso_codes_by_user ON sso_codes (user_id);

CREATE TABLE sso_flows (
  hash TEXT PRIMARY KEY NOT NULL, replaces TEXT, port BIGINT, challenge TEXT, expires_ms BIGINT NOT NULL,
  CHECK ((port IS NULL) = (challenge IS NULL)));

CREATE INDEX sso_flows_by_end ON sso_flows (expires_ms);

CREATE TABLE sso_logouts (
  jti TEXT PRIMARY KEY NOT NULL, subject TEXT, sid TEXT, at_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL);

CREATE TABLE sso_sids (
  sid TEXT PRIMARY KEY NOT NULL, user_id TEXT NOT NULL REFERENCES users (id), expires_ms BIGINT NOT NULL);

CREATE INDEX sso_sids_by_end ON sso_sids (expires_ms);

CREATE TABLE "usage" (
  attempt_id TEXT PRIMARY KEY NOT NULL, cursor BIGINT UNIQUE,
  customer_id TEXT NOT NULL, job_id TEXT NOT NULL, job_type TEXT NOT NULL, runner_kind TEXT,
  state TEXT NOT NULL, attempt_ms BIGINT NOT NULL, artifact_bytes BIGINT NOT NULL,
  ended_ms BIGINT NOT NULL);

CREATE INDEX usage_fresh ON usage (ended_ms, attempt_id) WHERE cursor IS NULL;

CREATE TRIGGER usage_stands BEFORE UPDATE ON usage WHEN OLD.cursor IS NOT NULL
  BEGIN SELECT RAISE(ABORT, 'usage never changes'); END;

CREATE TABLE users (
  id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE, password_hash TEXT,
  oidc_issuer TEXT, oidc_subject TEXT, disabled INTEGER NOT NULL, roles TEXT NOT NULL,
  password_changed_ms BIGINT NOT NULL, created_ms BIGINT NOT NULL,
  UNIQUE (oidc_issuer, oidc_subject));
