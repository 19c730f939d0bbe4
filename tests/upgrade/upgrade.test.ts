// An older database is brought up without losing a row, or refused in words and left as it is.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openPostgresStore } from "../../plane/store/dialects/postgres/store.ts";
import { openSqliteStore } from "../../plane/store/dialects/sqlite/store.ts";
import { MIGRATIONS } from "../../plane/store/migrations/index.ts";
import { makeFolder, startPlane } from "../harness/plane.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";
import type { Row } from "../harness/stored.ts";
import { insertionOf, ROWS } from "./rows.ts";

const AIMD = fileURLToPath(new URL("../../plane/main.ts", import.meta.url));
/** The schema of the previous issue. */
const BEFORE = 5;
const NEWEST = MIGRATIONS.at(-1)?.number ?? 0;

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres[Symbol.asyncDispose]());

const fail = (error: Error): void => {
  throw error;
};

describe.for([["sqlite"], ["postgres"]] as const)("an older database on %s", ([dialect]) => {
  let home: string;
  let stateDir: string;
  let url: string;
  let where: readonly string[];

  beforeEach(() => {
    home = makeFolder("upgrade");
    stateDir = join(home, "state");
    url = dialect === "sqlite" ? "" : postgres.createDatabase();
    const file = join(home, "database-url");
    writeFileSync(file, url);
    where = dialect === "sqlite" ? [] : ["--database-file", file];
    makeOld();
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const path = () => join(stateDir, "aim.sqlite");

  function makeOld(): void {
    const old = MIGRATIONS.filter(({ number }) => number <= BEFORE);
    const rows = ROWS.map(insertionOf);
    if (dialect === "postgres") {
      const schema = old.flatMap((migration) => [...migration.both, ...migration.postgres]);
      const version = [
        "CREATE TABLE aim_schema (version INTEGER NOT NULL)",
        `INSERT INTO aim_schema (version) VALUES (${BEFORE})`,
      ];
      return postgres.run(url, [...schema, ...version, ...rows].join(";\n"));
    }
    mkdirSync(stateDir, { mode: 0o700 });
    const database = new DatabaseSync(path());
    const schema = old.flatMap((migration) => [...migration.both, ...migration.sqlite]);
    for (const statement of [...schema, ...rows]) database.exec(statement);
    database.exec(`PRAGMA user_version = ${BEFORE}`);
    database.close();
  }

  function rows(query: string): readonly Row[] {
    if (dialect === "postgres") return postgres.rows(url, query);
    const database = new DatabaseSync(path());
    try {
      return database.prepare(query).all() as Row[];
    } finally {
      database.close();
    }
  }

  const tables = (): string[] =>
    rows(
      dialect === "sqlite"
        ? "SELECT name FROM sqlite_master WHERE type = 'table'"
        : "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
    ).map(({ name }) => String(name));

  /** Every row that was there, with the columns that it had. Events have moved: they are read as readers read them. */
  function kept(): Record<string, readonly string[]> {
    const staying = ROWS.filter(([table]) => table !== "events");
    const columns = new Map(staying.map(([table, row]) => [table, Object.keys(row)]));
    return Object.fromEntries(
      [...columns].map(([table, names]) => [
        table,
        rows(`SELECT ${names.join(", ")} FROM ${table}`)
          .map((row) => JSON.stringify(names.map((name) => row[name])))
          .toSorted(),
      ]),
    );
  }

  const aimd = (command: string, ...args: readonly string[]) =>
    spawnSync(process.execPath, [AIMD, command, "--state", stateDir, ...where, ...args], {
      encoding: "utf8",
    });

  test("there is a row of every kind to lose", () => {
    const filled = new Set(ROWS.map(([table]) => table));
    const empty = tables().filter((table) => !filled.has(table) && table !== "aim_schema");
    expect(empty).toEqual([]);
  });

  test("every row is kept by the present schema", async () => {
    const before = kept();
    const store =
      dialect === "sqlite"
        ? await openSqliteStore(path(), fail)
        : await openPostgresStore(url, fail);
    const found = await store.readAttempt({ attemptId: `run_${"1".repeat(26)}` });
    expect(found).toMatchObject({ job: { title: "O'Neill \u00e9", owner: "ada" } });
    for (const [, { attempt_id, event, sequence }] of ROWS.filter(([name]) => name === "events")) {
      const use = { attemptId: String(attempt_id), after: Number(sequence) - 1, limit: 1 };
      const [read] = await store.readEvents(use);
      expect(JSON.parse(read?.event ?? "null")).toEqual(JSON.parse(String(event)));
    }
    await store.close();
    const after = kept();
    for (const [table, lines] of Object.entries(before)) {
      expect(after[table], table).toEqual(expect.arrayContaining([...lines]));
    }
  });

  test("aimd migrate says from where and to where, and the second time that nothing is to do", () => {
    const before = kept();
    expect(aimd("migrate")).toMatchObject({
      status: 0,
      stdout: `{"from":${BEFORE},"to":${NEWEST}}\n`,
    });
    expect(aimd("migrate").stdout).toBe(`{"from":${NEWEST},"to":${NEWEST}}\n`);
    expect(kept()["attempts"]).toEqual(before["attempts"]);
  });

  test("aimd serve --no-migrate refuses an older schema, says what to do, and changes nothing", () => {
    const refused = aimd("serve", "--no-runner", "--no-migrate");
    expect(refused.status).toBe(69);
    expect(refused.stderr).toContain(`has schema ${BEFORE}, this release needs ${NEWEST}`);
    expect(refused.stderr).toContain("aimd migrate");
    expect(tables()).not.toContain("audit");
  });
});

test("a newer schema is refused by aimd migrate, and a running plane keeps its file", async () => {
  await using plane = await startPlane({ runner: false, arguments: ["--no-runner"] });
  const migrate = () =>
    spawnSync(process.execPath, [AIMD, "migrate", "--state", plane.stateDir], {
      encoding: "utf8",
    });
  expect(migrate()).toMatchObject({ status: 69, stdout: "" });
  await plane.stop();
  const database = new DatabaseSync(join(plane.stateDir, "aim.sqlite"));
  database.exec("PRAGMA user_version = 9999");
  database.close();
  const refused = migrate();
  expect(refused.status).toBe(69);
  expect(refused.stderr).toContain("has schema 9999");
});
