import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { migrateSqlite } from "../../plane/store/dialects/sqlite/migrate.ts";
import { openSqlite } from "../../plane/store/dialects/sqlite/open.ts";
import { StoreRefused } from "../../plane/store/refused.ts";
import { makeFolder, startPlane } from "../harness/plane.ts";

const AIMD = fileURLToPath(new URL("../../plane/main.ts", import.meta.url));
const FULL = 2;

let folder = "";
let path = "";
beforeEach(() => {
  folder = makeFolder("opening");
  path = join(folder, "aim.sqlite");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const synchronous = (database: DatabaseSync): unknown =>
  database.prepare("PRAGMA synchronous").get()?.["synchronous"];

test("durability is full at the first opening and at every later one", async () => {
  for (let opening = 0; opening < 3; opening += 1) {
    const database = openSqlite(path);
    await migrateSqlite(database);
    expect(synchronous(database)).toBe(FULL);
    database.close();
  }
});

test("a file that somebody else has open is refused in words", async () => {
  const first = openSqlite(path);
  await migrateSqlite(first);
  expect(() => openSqlite(path)).toThrow(StoreRefused);
  first.close();
  openSqlite(path).close();
});

test("a file of a newer release is refused and not changed", async () => {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA user_version = 9999");
  await expect(migrateSqlite(database)).rejects.toThrow(StoreRefused);
  expect(database.prepare("PRAGMA user_version").get()?.["user_version"]).toBe(9999);
  database.close();
});

test("what never changes cannot be changed, not even by SQL", async () => {
  const database = openSqlite(path);
  await migrateSqlite(database);
  database.exec(
    `INSERT INTO jobs VALUES ('j', 'c', 'p', 't', 'k', 'd', '{}', 'b', 1, 'local', NULL)`,
  );
  const columns = database.prepare("PRAGMA table_info(attempts)").all() as { name: string }[];
  const values = columns.map(({ name }) => {
    if (name === "job_id") return "'j'";
    return name === "state" ? "'lost'" : "1";
  });
  database.exec(`INSERT INTO attempts VALUES (${values.join(", ")})`);
  expect(() => database.exec("UPDATE attempts SET effect = 'none'")).toThrow(/never changes/);
  database.close();
});

test("a second plane on one state folder is refused and the first goes on", async () => {
  await using plane = await startPlane({ runner: false, arguments: ["--no-runner"] });
  const second = spawnSync(
    process.execPath,
    [AIMD, "serve", "--state", plane.stateDir, "--no-runner"],
    { encoding: "utf8" },
  );
  expect(second.status).toBe(69);
  expect(JSON.parse(second.stderr.trim().split("\n").at(-1) ?? "")).toMatchObject({
    code: "store_refused",
  });
  expect(await plane.client.health()).toBe(true);
});
