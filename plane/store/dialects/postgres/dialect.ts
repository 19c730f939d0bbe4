// Kysely on pg: connection, number types and row locks of PostgreSQL.
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import type { Schema } from "../../schema.ts";
import type { RowLocks } from "../../transaction.ts";

const CONNECTIONS_MAX = 10;
const CONNECT_TIMEOUT_MS = 5_000;

/** Rows stay locked until the transaction ends; a claim leaves out what another plane holds. */
export const postgresRows: RowLocks = {
  hold: (query) => query.forUpdate(),
  holdFree: (query) => query.forUpdate().skipLocked(),
};

export interface PostgresConnection {
  readonly db: Kysely<Schema>;
  readonly pool: pg.Pool;
}

/** Connects on first use. `onLost` hears of idle connections that broke; a query that fails rejects by itself. */
export function connectPostgres(url: string, onLost: (error: Error) => void): PostgresConnection {
  // Every bigint of ours fits a safe integer.
  pg.types.setTypeParser(pg.types.builtins.INT8, Number);
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: "aimd",
  });
  pool.on("error", onLost);
  return { pool, db: new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) }) };
}
