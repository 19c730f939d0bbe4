// Content-addressed bytes in a folder: reviewed files and artifacts. Written once, never changed.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, copyFile, link, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { AimError } from "@aim/contract";
import { point } from "../base/point.ts";

export interface Blobs {
  /**
   * Keeps bytes durably; answers their hex SHA-256. Keeping them again does nothing. Bytes that do not have the digest
   * `named` for them are refused with digest_mismatch before anything is written.
   */
  readonly put: (bytes: Uint8Array, named?: string) => Promise<string>;
  readonly has: (sha256: string) => Promise<boolean>;
  /** How many bytes are kept under a digest, or null for none. */
  readonly sizeOf: (sha256: string) => Promise<number | null>;
  readonly read: (sha256: string) => Promise<Buffer>;
  readonly stream: (sha256: string) => Readable;
  /** Puts a second name for the bytes into a folder of the same form, or a copy where that cannot be. False for none. */
  readonly copyTo: (sha256: string, folder: string) => Promise<boolean>;
  /** Takes in a file of the drafts' folder that is whole, durable and has this digest. */
  readonly adopt: (draft: string, sha256: string) => Promise<void>;
  /** Folder of what is not whole yet; on the same file system. */
  readonly draftsFolder: string;
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function createBlobs(folder: string): Blobs {
  let writes = 0;
  const draftsFolder = join(folder, "drafts");
  const pathOf = (digest: string) => join(folder, digest.slice(0, 2), digest);

  async function has(digest: string): Promise<boolean> {
    return access(pathOf(digest)).then(
      () => true,
      () => false,
    );
  }

  async function sizeOf(digest: string): Promise<number | null> {
    return stat(pathOf(digest)).then(
      ({ size }) => size,
      () => null,
    );
  }

  async function put(bytes: Uint8Array, named?: string): Promise<string> {
    const digest = sha256(bytes);
    if (named !== undefined && named !== digest) throw new AimError("digest_mismatch");
    if (await has(digest)) return digest;
    writes += 1;
    const draft = join(draftsFolder, `put.${process.pid}.${writes}`);
    await storing(draft, async () => {
      await mkdir(draftsFolder, { recursive: true, mode: 0o700 });
      await writeDurably(draft, bytes);
      await adopt(draft, digest);
    });
    return digest;
  }

  async function adopt(draft: string, digest: string): Promise<void> {
    const path = pathOf(digest);
    const parent = dirname(path);
    await mkdir(parent, { recursive: true, mode: 0o700 });
    point("blobs.before_rename");
    await rename(draft, path);
    point("blobs.after_rename");
    await syncFolder(parent);
  }

  async function copyTo(digest: string, to: string): Promise<boolean> {
    if (!(await has(digest))) return false;
    const parent = join(to, digest.slice(0, 2));
    await mkdir(parent, { recursive: true, mode: 0o700 });
    const place = join(parent, digest);
    // Another file system has no second name for them.
    await link(pathOf(digest), place).catch(() => copyFile(pathOf(digest), place));
    return true;
  }

  return {
    copyTo,
    put,
    has,
    sizeOf,
    read: (digest) => readFile(pathOf(digest)),
    stream: (digest) => createReadStream(pathOf(digest)),
    adopt,
    draftsFolder,
  };
}

/** Whatever fails, no draft is left; a file system without room is a refusal. */
export async function storing(draft: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await rm(draft, { force: true });
    throw isFull(error) ? new AimError("storage_full", undefined, { cause: error }) : error;
  }
}

/** To a file that must not be there yet, or to the end of one. */
export async function writeDurably(
  path: string,
  bytes: Uint8Array,
  how: "wx" | "a" = "wx",
): Promise<void> {
  const file = await open(path, how, 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isFull(error: unknown): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    (error.code === "ENOSPC" || error.code === "EDQUOT")
  );
}
