// Kysely on node:sqlite. One connection, synchronous, in the store's own worker thread.
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from "kysely";
import type { RowLocks } from "../../transaction.ts";

/** The one writer is alone: BEGIN IMMEDIATE holds every row. */
export const sqliteRows: RowLocks = { hold: (query) => query, holdFree: (query) => query };

export function sqliteDialect(database: DatabaseSync): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => createDriver(database),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

const STATEMENTS_MAX = 200;

interface Prepared {
  readonly statement: ReturnType<DatabaseSync["prepare"]>;
  readonly answersRows: boolean;
}

function createDriver(database: DatabaseSync): Driver {
  const statements = new Map<string, Prepared>();

  function prepared(sql: string): Prepared {
    let found = statements.get(sql);
    if (found === undefined) {
      if (statements.size >= STATEMENTS_MAX) statements.clear();
      const statement = database.prepare(sql);
      found = { statement, answersRows: statement.columns().length > 0 };
      statements.set(sql, found);
    }
    return found;
  }

  function execute<R>({ sql, parameters }: CompiledQuery): QueryResult<R> {
    const { statement, answersRows } = prepared(sql);
    const values = parameters as SQLInputValue[];
    if (answersRows) return { rows: statement.all(...values) as R[] };
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  const connection: DatabaseConnection = {
    // The worker handles one use after another, so that queries of two transactions never mix.
    executeQuery: async (query) => execute(query),
    streamQuery: () => {
      throw new Error("the store reads pages, it does not stream");
    },
  };

  return {
    init: async () => {},
    acquireConnection: async () => connection,
    releaseConnection: async () => {},
    beginTransaction: async () => database.exec("BEGIN IMMEDIATE"),
    commitTransaction: async () => database.exec("COMMIT"),
    // A full disk ends the transaction by itself.
    rollbackTransaction: async () => {
      if (database.isTransaction) database.exec("ROLLBACK");
    },
    destroy: async () => database.close(),
  };
}
