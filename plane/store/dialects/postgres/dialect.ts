// Kysely on pg: connection, number types and row locks of PostgreSQL.
import { createHash } from "node:crypto";
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from "kysely";
import pg from "pg";
import type { Schema } from "../../schema.ts";
import type { RowLocks } from "../../transaction.ts";

const CONNECTIONS_MAX = 10;
const CONNECT_TIMEOUT_MS = 5_000;
/** Longer statements carry many rows and differ each time: the server would keep plans that nobody asks for again. */
const PREPARED_CHARS_MAX = 4_000;

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
    pipeline: true,
  });
  pool.on("error", (error) => {
    // A pool that ended still has connections that are being closed: what becomes of them is nobody's loss.
    if (!pool.ending) onLost(error);
  });
  return {
    pool,
    db: new Kysely<Schema>({ dialect: new PostgresDialect({ pool: sparing(pool) }) }),
  };
}

/** The same pool with fewer waits and less planning. */
function sparing(pool: pg.Pool): PostgresPool {
  // Kysely knows a connection by its object.
  const known = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  return {
    options: pool.options,
    connect: async () => {
      const client = await pool.connect();
      const spared = known.get(client) ?? sparingClient(client);
      known.set(client, spared);
      return spared;
    },
    end: () => pool.end(),
  };
}

function sparingClient(client: pg.PoolClient): PostgresPoolClient {
  const query = async (text: string, values: readonly unknown[]) => {
    if (text === "begin") {
      // Travels with the statement behind it: where it fails the connection is broken, and that one fails too.
      client.query(text).catch(() => undefined);
      return { command: "BEGIN", rowCount: 0, rows: [] };
    }
    const prepared = text.length > PREPARED_CHARS_MAX ? {} : { name: nameOf(text) };
    return client.query({ text, values: [...values], ...prepared });
  };
  return {
    // Never asked for a cursor: the store reads pages, it does not stream.
    query: query as unknown as PostgresPoolClient["query"],
    release: (error) => client.release(error),
  };
}

const names = new Map<string, string>();

/** The server plans a named statement once for each connection. */
function nameOf(text: string): string {
  const name = names.get(text) ?? createHash("sha256").update(text).digest("base64url");
  names.set(text, name);
  return name;
}
