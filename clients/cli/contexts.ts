// Planes that this user has logged in to: a private file, written whole or not at all. Tokens stand here and nowhere else.
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { EXIT } from "./exit-codes.ts";
import { CliFault } from "./fault.ts";
import { visible } from "./render/escape.ts";
import { configDir } from "./settings.ts";

export interface Context {
  readonly url: string;
  /** File of the authority that made the plane's certificate; null for the machine's own. */
  readonly ca: string | null;
  readonly user: string;
  readonly token: string;
  readonly expires_at: string;
}

export interface Contexts {
  /** Null for the plane on this machine's own socket. */
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, Context>>;
}

const NONE: Contexts = { current: null, contexts: {} };

function pathOf(): string {
  return join(configDir(), "contexts.json");
}

/** Throws CliFault 64 for a file that is open to others or is none of ours. */
export function readContexts(): Contexts {
  const path = pathOf();
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return NONE;
  requirePrivate(path);
  try {
    const found = JSON.parse(readFileSync(path, "utf8")) as Partial<Contexts> | null;
    if (typeof found?.contexts === "object") {
      return { current: found.current ?? null, contexts: found.contexts };
    }
  } catch {
    // Falls through: a parser's message would quote the file.
  }
  throw new CliFault(EXIT.usage, `${visible(path)} cannot be read. Remove it and log in again.`);
}

/** Throws CliFault 64 for a file with a secret that is somebody else's or that others may read. */
export function requirePrivate(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new CliFault(EXIT.usage, `${visible(path)} does not exist.`);
  if (stats.uid !== process.getuid?.() || (stats.mode & 0o077) !== 0) {
    throw new CliFault(EXIT.usage, `${visible(path)} is open to others: chmod 600 it.`);
  }
}

export function writeContexts(contexts: Contexts): void {
  const path = pathOf();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}.part`;
  rmSync(draft, { force: true });
  const file = openSync(draft, "wx", 0o600);
  try {
    writeFileSync(file, `${JSON.stringify({ version: 1, ...contexts }, null, 2)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  const folder = openSync(dirname(path), "r");
  fsyncSync(folder);
  closeSync(folder);
}

export function keepContext(name: string, context: Context): void {
  const { contexts } = readContexts();
  writeContexts({ current: name, contexts: { ...contexts, [name]: context } });
}

export function forgetContext(name: string): void {
  const { current, contexts } = readContexts();
  const { [name]: _, ...rest } = contexts;
  writeContexts({ current: current === name ? null : current, contexts: rest });
}
