// Takes a snapshot of a project: every file read once, named by its digest, kept so that exactly this can run.
import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import {
  AimError,
  BUNDLE_BYTES_MAX,
  BUNDLE_FILE_BYTES_MAX,
  BUNDLE_FILES_MAX,
  BUNDLE_PATH_BYTES_MAX,
  canonicalJson,
  type BundleFile,
} from "@aim/contract";

/** Folders that Ansible does not read; they are in no bundle and so in no sandbox. */
export const LEFT_OUT: ReadonlySet<string> = new Set([
  ".aim",
  ".cache",
  ".git",
  ".hg",
  ".mypy_cache",
  ".pytest_cache",
  ".svn",
  ".tox",
  ".venv",
  "__pycache__",
  "node_modules",
  "venv",
]);

const DEPTH_MAX = 32;

export interface Tree {
  /** Absolute folder, or one file. */
  readonly from: string;
  /** Place in the workspace. */
  readonly to: string;
  /** Only these names at the top of the tree; null for all. */
  readonly only: ReadonlySet<string> | null;
}

export interface Snapshot {
  readonly files: readonly BundleFile[];
  readonly digest: string;
}

/** `keep` is given each file's bytes and answers their digest; a dry snapshot only computes it. */
export type Keep = (bytes: Uint8Array) => Promise<string> | string;

/**
 * Reads the trees. Throws content_unsupported for anything but regular files and folders (links are followed
 * inside their tree only), content_too_large beyond the bundle's limits, playbook_not_found when a tree is gone.
 */
export async function snapshot(
  trees: readonly Tree[],
  keep: Keep,
  digest: (text: string) => string,
): Promise<Snapshot> {
  const files = new Map<string, BundleFile>();
  let bytes = 0;

  async function takeFile(path: string, to: string): Promise<void> {
    const facts = await stat(path);
    if (files.size >= BUNDLE_FILES_MAX) throw new AimError("content_too_large", to);
    if (facts.size > BUNDLE_FILE_BYTES_MAX) throw new AimError("content_too_large", to);
    if (Buffer.byteLength(to) > BUNDLE_PATH_BYTES_MAX) throw new AimError("content_too_large", to);
    const content = await readFile(path);
    bytes += content.length;
    if (bytes > BUNDLE_BYTES_MAX) throw new AimError("content_too_large", to);
    files.set(to, {
      path: to,
      sha256: await keep(content),
      size: content.length,
      executable: (facts.mode & 0o111) !== 0,
    });
  }

  async function take(root: string, path: string, tree: Tree): Promise<void> {
    const inside = relative(tree.from, path);
    const to = inside === "" ? tree.to : `${tree.to}/${inside}`;
    const real = await resolveInside(root, path, to);
    const facts = await lstat(real);
    if (facts.isFile()) return takeFile(real, to);
    if (!facts.isDirectory()) throw new AimError("content_unsupported", to);
    if (inside.split(sep).length > DEPTH_MAX) throw new AimError("content_unsupported", to);
    for (const name of (await readdir(real)).toSorted()) {
      if (LEFT_OUT.has(name)) continue;
      if (inside === "" && tree.only !== null && !tree.only.has(name)) continue;
      await take(root, join(path, name), tree);
    }
  }

  for (const tree of trees) {
    const root = await realRoot(tree.from);
    await take(root, tree.from, tree);
  }
  const list = [...files.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return { files: list, digest: digest(canonicalJson(list)) };
}

async function realRoot(path: string): Promise<string> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : dirname(real);
  } catch (error) {
    throw new AimError("playbook_not_found", basename(path), { cause: error });
  }
}

async function resolveInside(root: string, path: string, to: string): Promise<string> {
  let real: string;
  try {
    real = await realpath(path);
  } catch (error) {
    throw new AimError("content_unsupported", to, { cause: error });
  }
  if (real !== root && !real.startsWith(root + sep)) throw new AimError("content_unsupported", to);
  return real;
}
