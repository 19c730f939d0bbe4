// Fills an empty workspace with exactly the reviewed files.
import { createHash } from "node:crypto";
import { chown, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import type { BundleFile } from "@aim/contract";

export class ContentMismatch extends Error {
  override readonly name = "ContentMismatch";
}

export interface Workspace {
  readonly files: readonly string[];
  readonly read: (path: string) => Promise<Buffer>;
  readonly write: (path: string, bytes: string | Uint8Array, executable?: boolean) => Promise<void>;
}

export interface WorkspaceParts {
  readonly root: string;
  /** Owner of everything in it; null to keep the runner's. */
  readonly uid: number | null;
  readonly fetch: (sha256: string) => Promise<Uint8Array>;
}

/** Writes every file after checking its digest. Throws ContentMismatch when one differs or leads outside. */
export async function fillWorkspace(
  parts: WorkspaceParts,
  files: readonly BundleFile[],
): Promise<Workspace> {
  const made = new Set<string>([parts.root]);

  async function own(path: string): Promise<void> {
    if (parts.uid !== null) await chown(path, parts.uid, parts.uid);
  }

  async function makeFolder(path: string): Promise<void> {
    if (made.has(path)) return;
    await makeFolder(dirname(path));
    await mkdir(path, { mode: 0o755, recursive: true });
    await own(path);
    made.add(path);
  }

  function place(path: string): string {
    const inside = normalize(path);
    const leadsOut = inside.startsWith("/") || inside === ".." || inside.startsWith("../");
    if (leadsOut || inside.includes("\0")) throw new ContentMismatch(path);
    return join(parts.root, inside);
  }

  async function write(
    path: string,
    bytes: string | Uint8Array,
    executable = false,
  ): Promise<void> {
    const target = place(path);
    await makeFolder(dirname(target));
    await writeFile(target, bytes, { mode: executable ? 0o755 : 0o644 });
    await own(target);
  }

  for (const file of files) {
    const bytes = await parts.fetch(file.sha256);
    const digest = createHash("sha256").update(bytes).digest("hex");
    if (digest !== file.sha256 || bytes.length !== file.size) throw new ContentMismatch(file.path);
    await write(file.path, bytes, file.executable);
  }
  // Tools start in the project folder, also when a bundle has none.
  await makeFolder(join(parts.root, "project"));
  return { files: files.map((file) => file.path), read: (path) => readFile(place(path)), write };
}
