// Retries with a key of their own, the runners that registered, and what ended attempts took.
export const jobs: readonly string[] = [
  `ALTER TABLE attempts ADD COLUMN idempotency_key TEXT`,
  `CREATE UNIQUE INDEX attempts_by_key ON attempts (job_id, idempotency_key)
     WHERE idempotency_key IS NOT NULL`,
  `CREATE UNIQUE INDEX attempts_by_claim ON attempts (claim_id) WHERE claim_id IS NOT NULL`,
  `CREATE INDEX attempts_held ON attempts (runner)
     WHERE state IN ('leased', 'preparing', 'running', 'finalizing', 'cancelling')`,
  `CREATE INDEX attempts_by_deadline ON attempts (deadline_ms) WHERE state = 'queued'`,
  `CREATE INDEX jobs_by_customer ON jobs (customer_id, id)`,
  `CREATE TABLE runners (
     id TEXT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL, name TEXT NOT NULL,
     runner_kind TEXT NOT NULL, job_types TEXT NOT NULL, runtime TEXT NOT NULL, slots INTEGER NOT NULL,
     registered_ms BIGINT NOT NULL, seen_ms BIGINT NOT NULL, draining INTEGER NOT NULL)`,
  `CREATE INDEX runners_by_age ON runners (seen_ms)`,
  `CREATE TABLE usage (
     attempt_id TEXT PRIMARY KEY NOT NULL REFERENCES attempts (id), cursor BIGINT UNIQUE,
     customer_id TEXT NOT NULL, job_id TEXT NOT NULL, job_type TEXT NOT NULL, runner_kind TEXT,
     state TEXT NOT NULL, attempt_ms BIGINT NOT NULL, artifact_bytes BIGINT NOT NULL,
     ended_ms BIGINT NOT NULL)`,
  `CREATE INDEX usage_fresh ON usage (ended_ms, attempt_id) WHERE cursor IS NULL`,
  // Whoever numbers usage holds this row until its commit, so that cursors appear in their order.
  `INSERT INTO meta (key, value) VALUES ('usage_cursor', '0')`,
];

export const jobsSqlite: readonly string[] = [
  `CREATE TRIGGER usage_stands BEFORE UPDATE ON usage WHEN OLD.cursor IS NOT NULL
     BEGIN SELECT RAISE(ABORT, 'usage never changes'); END`,
];

export const jobsPostgres: readonly string[] = [
  `CREATE FUNCTION usage_stands() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN RAISE EXCEPTION 'usage never changes'; END $$`,
  `CREATE TRIGGER usage_stands BEFORE UPDATE ON usage FOR EACH ROW
     WHEN (OLD.cursor IS NOT NULL) EXECUTE FUNCTION usage_stands()`,
];
