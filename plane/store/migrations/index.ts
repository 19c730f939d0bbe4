// Numbered, forward-only migrations. A database of a newer release is refused, never changed.
import { first, firstPostgres, firstSqlite } from "./001-first.ts";

export interface Migration {
  readonly number: number;
  readonly both: readonly string[];
  readonly sqlite: readonly string[];
  readonly postgres: readonly string[];
}

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, both: first, sqlite: firstSqlite, postgres: firstPostgres },
];
