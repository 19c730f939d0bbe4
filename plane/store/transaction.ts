// What a writing use is lent: one transaction, and the dialect's way to hold rows until its end.
import type { SelectQueryBuilder, Transaction } from "kysely";
import type { Schema } from "./schema.ts";

/** Where the dialects differ: SQLite's writer is alone anyway, PostgreSQL locks rows. */
export interface RowLocks {
  /** The rows stay as they were read until this transaction ends. */
  readonly hold: <T extends keyof Schema, O>(
    query: SelectQueryBuilder<Schema, T, O>,
  ) => SelectQueryBuilder<Schema, T, O>;
  /** The same, leaving out rows that another transaction holds. */
  readonly holdFree: <T extends keyof Schema, O>(
    query: SelectQueryBuilder<Schema, T, O>,
  ) => SelectQueryBuilder<Schema, T, O>;
}

export interface Write {
  readonly db: Transaction<Schema>;
  readonly rows: RowLocks;
}
