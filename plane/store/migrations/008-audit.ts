// The audit: rows that are only ever added, chained by their hashes.
import { AUDIT_GENESIS } from "@aim/contract";

export const audit: readonly string[] = [
  `CREATE TABLE audit (
     position BIGINT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL, at_ms BIGINT NOT NULL,
     principal_kind TEXT, principal_id TEXT, principal_name TEXT,
     action TEXT NOT NULL, outcome TEXT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL,
     previous TEXT NOT NULL, hash TEXT NOT NULL)`,
  // Whoever adds a row holds this one until its commit, so that the chain has one end.
  `INSERT INTO meta (key, value) VALUES ('audit_head', '0 ${AUDIT_GENESIS}')`,
];

export const auditSqlite: readonly string[] = ["UPDATE", "DELETE"].map(
  (change) => `CREATE TRIGGER audit_stands_${change.toLowerCase()} BEFORE ${change} ON audit
     BEGIN SELECT RAISE(ABORT, 'the audit never changes'); END`,
);

export const auditPostgres: readonly string[] = [
  `CREATE FUNCTION audit_stands() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN RAISE EXCEPTION 'the audit never changes'; END $$`,
  `CREATE TRIGGER audit_stands BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
     FOR EACH STATEMENT EXECUTE FUNCTION audit_stands()`,
];
