// Numbered, forward-only migrations. A database of a newer release is refused, never changed.
import { StoreRefused } from "../refused.ts";
import { first, firstPostgres, firstSqlite } from "./001-first.ts";
import { seals, sealsPostgres, sealsSqlite } from "./002-seals.ts";
import { outbox, outboxPostgres, outboxSqlite } from "./003-outbox.ts";
import { jobs, jobsPostgres, jobsSqlite } from "./004-jobs.ts";
import { access } from "./005-access.ts";
import { users } from "./006-users.ts";
import { journal, journalPostgres, journalSqlite } from "./007-journal.ts";
import { carryEventsOver } from "./carry-events-over.ts";
import type { Write } from "../transaction.ts";
import { audit, auditPostgres, auditSqlite } from "./008-audit.ts";
import { sso } from "./009-sso.ts";
import { tokenEnds } from "./010-token-ends.ts";

export interface Migration {
  readonly number: number;
  readonly both: readonly string[];
  readonly sqlite: readonly string[];
  readonly postgres: readonly string[];
  /** What SQL alone cannot say, after the statements and in their transaction. */
  readonly carryOver?: (write: Write) => Promise<void>;
}

export interface SchemaChange {
  readonly from: number;
  readonly to: number;
}

/** For a caller that may look at a database but not change it. */
export interface OpenOptions {
  /** Brings an older schema up; true by default. */
  readonly migrate?: boolean;
}

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, both: first, sqlite: firstSqlite, postgres: firstPostgres },
  { number: 2, both: seals, sqlite: sealsSqlite, postgres: sealsPostgres },
  { number: 3, both: outbox, sqlite: outboxSqlite, postgres: outboxPostgres },
  { number: 4, both: jobs, sqlite: jobsSqlite, postgres: jobsPostgres },
  { number: 5, both: access, sqlite: [], postgres: [] },
  { number: 6, both: users, sqlite: [], postgres: [] },
  {
    number: 7,
    both: journal,
    sqlite: journalSqlite,
    postgres: journalPostgres,
    carryOver: carryEventsOver,
  },
  { number: 8, both: audit, sqlite: auditSqlite, postgres: auditPostgres },
  { number: 9, both: sso, sqlite: [], postgres: [] },
  { number: 10, both: tokenEnds, sqlite: [], postgres: [] },
];

/** What is missing from a database at `version`. Throws StoreRefused for a newer one, and for an older one that must stay. */
export function missingFrom(version: number, { migrate = true }: OpenOptions = {}): Migration[] {
  const newest = MIGRATIONS.at(-1)?.number ?? 0;
  if (version > newest) {
    throw new StoreRefused(`the database has schema ${version}, this release knows ${newest}`);
  }
  if (version < newest && !migrate) {
    throw new StoreRefused(
      `the database has schema ${version}, this release needs ${newest}: run aimd migrate, or serve without --no-migrate`,
    );
  }
  return MIGRATIONS.filter(({ number }) => number > version);
}
