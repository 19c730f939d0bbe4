// An evidence folder on this machine: written into an empty place, read without ever following a link.
import { createHash } from "node:crypto";
import { constants, type Dirent } from "node:fs";
import { mkdir, open, readdir, rm, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { EvidenceFiles } from "@aim/sdk";

/** A folder has at most four levels; whatever lies deeper is named, not entered. */
const DEPTH_MAX = 4;
/** Far above what a manifest can list: a folder with more is not walked to its end. */
const ENTRIES_MAX = 10_000;

/** Lists the folder and lends its regular files. Rejects when the folder itself cannot be read. */
export async function openFolder(root: string): Promise<EvidenceFiles> {
  const found: Found = { names: [], refused: [] };
  await walk(root, "", found);
  return {
    ...found,
    read: (path, bytesMax) => readRegular(join(root, path), bytesMax),
    measure: (path) => measureRegular(join(root, path)),
  };
}

interface Found {
  readonly names: string[];
  readonly refused: string[];
}

async function walk(root: string, below: string, found: Found): Promise<void> {
  const entries = await readdir(join(root, below), { withFileTypes: true });
  if (entries.length === 0 && below !== "") found.names.push(`${below}/`);
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (found.names.length + found.refused.length >= ENTRIES_MAX) return;
    await take(root, below === "" ? entry.name : `${below}/${entry.name}`, { entry, found });
  }
}

async function take(
  root: string,
  path: string,
  { entry, found }: { readonly entry: Dirent; readonly found: Found },
): Promise<void> {
  if (entry.isFile()) found.names.push(path);
  else if (!entry.isDirectory()) found.refused.push(path);
  else if (path.split("/").length >= DEPTH_MAX) found.refused.push(path);
  else await walk(root, path, found);
}

/** Opens a file that is no link; one that was exchanged since the listing is not waited for. */
async function openRegular(path: string): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error("no regular file");
}

async function readRegular(
  path: string,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  await using file = await openRegular(path);
  if ((await file.stat()).size > bytesMax) return null;
  const bytes = await file.readFile();
  return bytes.length > bytesMax ? null : new Uint8Array(bytes);
}

async function measureRegular(path: string): Promise<{ sha256: string; size: number }> {
  await using file = await openRegular(path);
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of file.createReadStream({ autoClose: false })) {
    hash.update(chunk as Buffer);
    size += (chunk as Buffer).length;
  }
  return { sha256: hash.digest("hex"), size };
}

/** Makes the folder, or takes it when it is empty. Answers false for anything else. */
export async function makeEmpty(root: string): Promise<boolean> {
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
    return (await readdir(root)).length === 0;
  } catch {
    return false;
  }
}

/** Writes one file that is not there yet. The path must be one of the contract's: it is joined as it is. */
export async function writeNew(root: string, path: string, bytes: Uint8Array): Promise<void> {
  const place = join(root, path);
  await mkdir(dirname(place), { recursive: true, mode: 0o700 });
  await using file = await open(place, "wx", 0o600);
  await file.writeFile(bytes);
}

/** Takes back what was written into a folder that was empty before. */
export async function emptyAgain(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    await rm(join(root, name), { recursive: true, force: true });
  }
}
