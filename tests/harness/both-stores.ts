// The same tests on SQLite and on PostgreSQL, each with a store of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe } from "vitest";
import { openPostgresStore } from "../../plane/store/dialects/postgres/store.ts";
import { openSqliteStore } from "../../plane/store/dialects/sqlite/store.ts";
import type { Store } from "../../plane/store/store.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";

const fail = (error: Error): void => {
  throw error;
};

/** `fresh` answers the store of the present test, which is empty before it and gone behind it. */
export function onBothStores(what: string, tests: (fresh: () => Store) => void): void {
  describe(`${what} on sqlite`, () => {
    let folder = "";
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), "aim-both-"));
    });
    // Hooks of the end run from the last to the first: the store is closed before its folder goes.
    afterEach(() => rmSync(folder, { recursive: true, force: true }));
    withStore(() => openSqliteStore(join(folder, "aim.sqlite"), fail), tests);
  });
  describe(`${what} on postgres`, () => {
    let postgres: TestPostgres;
    beforeAll(async () => {
      postgres = await startPostgres();
    });
    afterAll(() => postgres[Symbol.asyncDispose]());
    withStore(() => openPostgresStore(postgres.createDatabase(), fail), tests);
  });
}

function withStore(open: () => Promise<Store>, tests: (fresh: () => Store) => void): void {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());
  tests(() => store);
}
