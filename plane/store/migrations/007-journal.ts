// The retained journal: one row an event in columns with interned names, and what is known of each attempt's journal.
// The events of before are carried over; afterwards nothing reads their table any more.
const journals = (id: string): string =>
  `CREATE TABLE journals (
     id ${id}, attempt_id TEXT NOT NULL UNIQUE REFERENCES attempts (id), job_id TEXT NOT NULL,
     customer_id TEXT NOT NULL, number INTEGER NOT NULL, detail INTEGER NOT NULL, base_us BIGINT NOT NULL,
     capture TEXT NOT NULL, max_events INTEGER NOT NULL, max_bytes INTEGER NOT NULL,
     last_sequence INTEGER NOT NULL, first_sequence INTEGER, stored INTEGER NOT NULL,
     retained INTEGER NOT NULL, bytes BIGINT NOT NULL,
     omitted INTEGER NOT NULL, omitted_from INTEGER, omitted_to INTEGER,
     lost INTEGER NOT NULL, placed INTEGER NOT NULL,
     names INTEGER NOT NULL, names_kept INTEGER NOT NULL, last_name INTEGER NOT NULL, checkpoint TEXT)`;

const OF_JOURNAL = "journal INTEGER NOT NULL REFERENCES journals (id) ON DELETE CASCADE";

/** In SQLite the rows of a journal lie beside each other, and nothing but the rows takes room. */
const tables = (id: string, clustered: string): readonly string[] => [
  journals(id),
  `CREATE INDEX journals_by_job ON journals (job_id, number)`,
  `CREATE TABLE journal_events (
     ${OF_JOURNAL}, sequence INTEGER NOT NULL, at BIGINT NOT NULL, delay BIGINT NOT NULL,
     kind INTEGER NOT NULL, play BIGINT, task BIGINT, name INTEGER, detail BIGINT, more TEXT,
     bytes INTEGER NOT NULL, customer_id TEXT NOT NULL, PRIMARY KEY (journal, sequence))${clustered}`,
  `CREATE TABLE journal_names (
     ${OF_JOURNAL}, id INTEGER NOT NULL, hash BIGINT NOT NULL, name TEXT NOT NULL,
     customer_id TEXT NOT NULL, PRIMARY KEY (journal, id))${clustered}`,
  `CREATE INDEX journal_names_by_hash ON journal_names (journal, hash)`,
  `CREATE TABLE journal_gaps (
     ${OF_JOURNAL}, from_sequence INTEGER NOT NULL, to_sequence INTEGER NOT NULL, n INTEGER NOT NULL,
     reason TEXT NOT NULL, customer_id TEXT NOT NULL, PRIMARY KEY (journal, from_sequence))${clustered}`,
];

/** Keys of deleted jobs: what was asked for once is never done a second time. */
export const journal: readonly string[] = [
  `CREATE TABLE deleted_jobs (
     id TEXT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL, idempotency_key TEXT NOT NULL,
     deleted_ms BIGINT NOT NULL, UNIQUE (customer_id, idempotency_key))`,
];

/** Ids are never given twice: a reader that knows a deleted journal must not find another one. */
export const journalSqlite: readonly string[] = [
  ...tables("INTEGER PRIMARY KEY AUTOINCREMENT", " WITHOUT ROWID"),
  // Usage outlives the attempt that it tells of.
  `DROP TRIGGER usage_stands`,
  `CREATE TABLE lasting_usage (
     attempt_id TEXT PRIMARY KEY NOT NULL, cursor BIGINT UNIQUE,
     customer_id TEXT NOT NULL, job_id TEXT NOT NULL, job_type TEXT NOT NULL, runner_kind TEXT,
     state TEXT NOT NULL, attempt_ms BIGINT NOT NULL, artifact_bytes BIGINT NOT NULL,
     ended_ms BIGINT NOT NULL)`,
  `INSERT INTO lasting_usage SELECT attempt_id, cursor, customer_id, job_id, job_type, runner_kind,
     state, attempt_ms, artifact_bytes, ended_ms FROM usage`,
  `DROP TABLE usage`,
  `ALTER TABLE lasting_usage RENAME TO usage`,
  `CREATE INDEX usage_fresh ON usage (ended_ms, attempt_id) WHERE cursor IS NULL`,
  `CREATE TRIGGER usage_stands BEFORE UPDATE ON usage WHEN OLD.cursor IS NOT NULL
     BEGIN SELECT RAISE(ABORT, 'usage never changes'); END`,
];

export const journalPostgres: readonly string[] = [
  ...tables("INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY", ""),
  `ALTER TABLE usage DROP CONSTRAINT usage_attempt_id_fkey`,
];
