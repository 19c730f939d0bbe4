// Whether a SQLite file that comes from elsewhere is whole: asked before anything is believed that stands in it.
import { StoreRefused } from "../../refused.ts";
import { openSqlite } from "./open.ts";

/** Throws StoreRefused with SQLite's own words for the first fault. */
export function checkFile(path: string): void {
  const database = openSqlite(path);
  try {
    const integrity = database.prepare("PRAGMA integrity_check(1)").get()?.["integrity_check"];
    if (integrity !== "ok") {
      throw new StoreRefused(`the database ${path} is damaged: ${String(integrity)}`);
    }
    const foreign = database.prepare("PRAGMA foreign_key_check").get();
    if (foreign !== undefined) {
      throw new StoreRefused(
        `the database ${path} is damaged: a row of ${String(foreign["table"])} refers to nothing`,
      );
    }
  } catch (error) {
    if (error instanceof StoreRefused) throw error;
    throw new StoreRefused(`the database ${path} is damaged`, { cause: error });
  } finally {
    database.close();
  }
}
