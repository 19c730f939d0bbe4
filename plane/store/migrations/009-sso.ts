// Single sign-on: logins that have begun, codes for programs, and what ends them. Nothing here can be used by who reads it.
export const sso: readonly string[] = [
  `CREATE TABLE sso_flows (
     hash TEXT PRIMARY KEY NOT NULL, replaces TEXT, port BIGINT, challenge TEXT, expires_ms BIGINT NOT NULL,
     CHECK ((port IS NULL) = (challenge IS NULL)))`,
  `CREATE INDEX sso_flows_by_end ON sso_flows (expires_ms)`,
  `CREATE TABLE sso_codes (
     hash TEXT PRIMARY KEY NOT NULL, user_id TEXT NOT NULL REFERENCES users (id),
     challenge TEXT NOT NULL, expires_ms BIGINT NOT NULL)`,
  `CREATE INDEX sso_codes_by_user ON sso_codes (user_id)`,
  `CREATE TABLE sso_sids (
     sid TEXT PRIMARY KEY NOT NULL, user_id TEXT NOT NULL REFERENCES users (id), expires_ms BIGINT NOT NULL)`,
  `CREATE INDEX sso_sids_by_end ON sso_sids (expires_ms)`,
  `CREATE TABLE sso_logouts (
     jti TEXT PRIMARY KEY NOT NULL, subject TEXT, sid TEXT, at_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL)`,
];
