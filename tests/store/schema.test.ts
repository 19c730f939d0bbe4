// The schema that all migrations lead to stands beside them, one file a dialect, so that a change of it can be read.
// `vitest run --project whole tests/store/schema.test.ts -u` writes them anew.
import { DatabaseSync } from "node:sqlite";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openPostgresStore } from "../../plane/store/dialects/postgres/store.ts";
import { openSqliteStore } from "../../plane/store/dialects/sqlite/store.ts";
import { makeFolder } from "../harness/plane.ts";
import { startPostgres } from "../harness/postgres.ts";

const BESIDE = "../../plane/store/migrations/schema";
const fail = (error: Error): void => {
  throw error;
};

test("the schema on SQLite is the one that is written down", async () => {
  const folder = makeFolder("schema");
  try {
    const path = join(folder, "aim.sqlite");
    await (await openSqliteStore(path, fail)).close();
    const database = new DatabaseSync(path, { readOnly: true });
    const rows = database
      .prepare(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY tbl_name, type <> 'table', type, name",
      )
      .all();
    database.close();
    const text = rows
      .map((row) => `${String(row["sql"]).replaceAll(/\n\s*/g, "\n  ")};\n`)
      .join("\n");
    await expect(text).toMatchFileSnapshot(`${BESIDE}.sqlite.sql`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Everything of a table in one line each, in the server's own words. */
const POSTGRES = `
  SELECT c.relname AS name, 0 AS place, a.attnum AS at,
    format('%s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
      coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')) AS line
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
  UNION ALL SELECT conrelid::regclass::text, 1, 0, conrelid::regclass || ': ' || pg_get_constraintdef(oid)
  FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
  UNION ALL SELECT tablename, 2, 0, indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT tgrelid::regclass::text, 3, 0, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT '~', 4, 0, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace`;

test("the schema on PostgreSQL is the one that is written down", async () => {
  await using postgres = await startPostgres();
  const url = postgres.createDatabase();
  await (await openPostgresStore(url, fail)).close();
  const query = `SELECT name, line FROM (${POSTGRES}) AS lines ORDER BY name COLLATE "C", place, at, line COLLATE "C"`;
  let table: unknown;
  const lines = postgres.rows(url, query).map(({ name, line }) => {
    const gap = table === undefined || table === name ? "" : "\n";
    table = name;
    return `${gap}${String(line)}\n`;
  });
  await expect(lines.join("")).toMatchFileSnapshot(`${BESIDE}.postgres.txt`);
});
