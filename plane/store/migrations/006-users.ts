// Who may come in: users, their sessions and tokens, one-time codes, and who approved which revision.
export const users: readonly string[] = [
  `CREATE TABLE users (
     id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE, password_hash TEXT,
     oidc_issuer TEXT, oidc_subject TEXT, disabled INTEGER NOT NULL, roles TEXT NOT NULL,
     password_changed_ms BIGINT NOT NULL, created_ms BIGINT NOT NULL,
     UNIQUE (oidc_issuer, oidc_subject))`,
  `CREATE TABLE sessions (
     hash TEXT PRIMARY KEY NOT NULL, user_id TEXT NOT NULL REFERENCES users (id),
     created_ms BIGINT NOT NULL, last_seen_ms BIGINT NOT NULL,
     idle_expires_ms BIGINT NOT NULL, absolute_expires_ms BIGINT NOT NULL)`,
  `CREATE INDEX sessions_by_user ON sessions (user_id)`,
  `CREATE INDEX sessions_by_end ON sessions (absolute_expires_ms)`,
  `CREATE TABLE api_tokens (
     id TEXT PRIMARY KEY NOT NULL, hash TEXT NOT NULL, name TEXT NOT NULL,
     user_id TEXT REFERENCES users (id), service TEXT, roles TEXT NOT NULL,
     created_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL, last_used_ms BIGINT, revoked_ms BIGINT,
     CHECK ((user_id IS NULL) <> (service IS NULL)))`,
  `CREATE INDEX api_tokens_by_user ON api_tokens (user_id, id)`,
  `CREATE TABLE setup_codes (
     hash TEXT PRIMARY KEY NOT NULL, user_id TEXT UNIQUE REFERENCES users (id), expires_ms BIGINT NOT NULL)`,
  `CREATE TABLE approvals (
     revision TEXT PRIMARY KEY NOT NULL REFERENCES revisions (revision), customer_id TEXT NOT NULL,
     approved_by TEXT NOT NULL, approved_by_name TEXT NOT NULL,
     approved_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL)`,
  `ALTER TABLE jobs ADD COLUMN approved_by TEXT`,
  // Whoever holds a stream open asks for this number and reads rights anew when it has changed.
  `INSERT INTO meta (key, value) VALUES ('rights_epoch', '0')`,
];
