// A PostgreSQL server of the test's own, in a temporary folder, on a local socket only.
import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./plane.ts";
import type { Row } from "./stored.ts";

const INSTALLED = "/usr/lib/postgresql";
const START_MS = 60_000;

export interface TestPostgres {
  /** A fresh database, empty or a copy of another that nobody is connected to; answers its URL. */
  readonly createDatabase: (copied?: string) => string;
  /** The rows that a query of a database finds. */
  readonly rows: (url: string, query: string) => readonly Row[];
  /** Runs statements past any plane; throws with the server's words. */
  readonly run: (url: string, statements: string) => void;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

export async function startPostgres(): Promise<TestPostgres> {
  const programs = programsFolder();
  const home = mkdtempSync(join(tmpdir(), "aim-pg-"));
  const owner = ownerOfServer();
  if (owner !== null) chownSync(home, owner.uid, owner.gid);
  const data = join(home, "data");
  const options = { ...owner, stdio: "ignore", cwd: home } as const;
  execFileSync(
    join(programs, "initdb"),
    ["-D", data, "-U", "aim", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"],
    options,
  );
  const server = spawn(
    join(programs, "postgres"),
    ["-D", data, "-k", home, "-c", "listen_addresses=", "-c", "max_connections=200"],
    options,
  );
  const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()));
  const sql = (text: string) =>
    execFileSync(join(programs, "psql"), ["-h", home, "-U", "aim", "-qc", text, "postgres"], {
      stdio: "pipe",
    });
  await until(
    START_MS,
    () => existsSync(join(home, ".s.PGSQL.5432")) && answers(() => sql("SELECT 1")),
  );
  let databases = 0;
  return {
    createDatabase: (copied) => {
      databases += 1;
      const name = `aim_${databases}`;
      const template = copied === undefined ? "" : ` TEMPLATE ${/aim_\d+/.exec(copied)?.[0]}`;
      sql(`CREATE DATABASE ${name}${template}`);
      return `postgres://aim@/${name}?host=${encodeURIComponent(home)}`;
    },
    rows: (url, query) => {
      const text = `SELECT coalesce(json_agg(found), '[]') FROM (${query}) AS found`;
      const maxBuffer = 2 ** 30;
      const found = execFileSync(join(programs, "psql"), ["-qtAc", text, url], { maxBuffer });
      return JSON.parse(found.toString()) as Row[];
    },
    run: (url, statements) => {
      const args = ["-q", "-v", "ON_ERROR_STOP=1", url];
      execFileSync(join(programs, "psql"), args, { input: statements, stdio: "pipe" });
    },
    [Symbol.asyncDispose]: async () => {
      server.kill("SIGINT");
      await ended;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function answers(ask: () => unknown): boolean {
  try {
    ask();
    return true;
  } catch {
    return false;
  }
}

function programsFolder(): string {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED) : [];
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0];
  if (newest === undefined)
    throw new Error("PostgreSQL is not installed; run npm run setup -- --dev");
  return join(INSTALLED, newest, "bin");
}

/** The server refuses to run as root. */
function ownerOfServer(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}
