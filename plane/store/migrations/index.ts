// Numbered, forward-only migrations. A database of a newer release is refused, never changed.
import { first, firstPostgres, firstSqlite } from "./001-first.ts";
import { seals, sealsPostgres, sealsSqlite } from "./002-seals.ts";
import { outbox, outboxPostgres, outboxSqlite } from "./003-outbox.ts";
import { jobs, jobsPostgres, jobsSqlite } from "./004-jobs.ts";
import { access } from "./005-access.ts";
import { audit, auditPostgres, auditSqlite } from "./008-audit.ts";

export interface Migration {
  readonly number: number;
  readonly both: readonly string[];
  readonly sqlite: readonly string[];
  readonly postgres: readonly string[];
}

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, both: first, sqlite: firstSqlite, postgres: firstPostgres },
  { number: 2, both: seals, sqlite: sealsSqlite, postgres: sealsPostgres },
  { number: 3, both: outbox, sqlite: outboxSqlite, postgres: outboxPostgres },
  { number: 4, both: jobs, sqlite: jobsSqlite, postgres: jobsPostgres },
  { number: 5, both: access, sqlite: [], postgres: [] },
  { number: 8, both: audit, sqlite: auditSqlite, postgres: auditPostgres },
];
