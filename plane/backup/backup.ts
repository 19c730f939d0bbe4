// A backup of a plane that goes on working: the database, the bytes that its rows name, and what the two were taken from.
import { copyFileSync, existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, isAbsolute, join } from "node:path";
import {
  AimError,
  canonicalJson,
  PRODUCT_VERSION,
  type BackupReport,
  type BackupRequest,
} from "@aim/contract";
import { formatTimestamp, type Clock } from "../base/clock.ts";
import { writeDurably } from "../base/durable-file.ts";
import type { Blobs } from "../store/blobs.ts";
import type { Store } from "../store/store.ts";
import type { ReferencedBlobs, ReferencedPage } from "../store/uses/referenced-blobs.ts";

const PAGE = 200;

/** Names inside a backup's folder. */
export const BACKUP_PLACES = {
  database: "aim.sqlite",
  blobs: "blobs",
  keys: "keys",
  /** Written last: a backup without it was cut off. */
  report: "backup.json",
} as const;

export interface BackupParts {
  readonly store: Pick<Store, "backup" | "referencedBlobs">;
  readonly blobs: Pick<Blobs, "copyTo">;
  readonly clock: Pick<Clock, "now">;
  /** Files of the state folder that hold keys; the public ones may always go. */
  readonly keys: { readonly secret: readonly string[]; readonly public: readonly string[] };
}

/** Makes the folder, which must not be there. Throws invalid_request for a path that cannot be one. */
export async function makeBackup(
  parts: BackupParts,
  { path, with_keys: withKeys }: BackupRequest,
): Promise<BackupReport> {
  if (!isAbsolute(path)) throw new AimError("invalid_request", "/path");
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    throw new AimError("invalid_request", "/path", { cause: error });
  });
  const { backup } = parts.store;
  // The database first: what its rows name is kept by then, since bytes come before the rows that name them.
  if (backup !== null) await backup({ path: join(path, BACKUP_PLACES.database) });
  const report: BackupReport = {
    backup_version: "1.0",
    product_version: PRODUCT_VERSION,
    taken_at: formatTimestamp(parts.clock.now()),
    database: backup === null ? "postgresql" : "sqlite",
    ...(await copyBlobs(parts, join(path, BACKUP_PLACES.blobs))),
    with_keys: withKeys,
  };
  const files = withKeys ? [...parts.keys.public, ...parts.keys.secret] : parts.keys.public;
  await copyKeys(files, join(path, BACKUP_PLACES.keys));
  const content = `${canonicalJson(report)}\n`;
  writeDurably({ path: join(path, BACKUP_PLACES.report), content, mode: 0o600 });
  return report;
}

/** Every blob that a row names, once each. */
export async function* eachReferenced(
  store: Pick<Store, "referencedBlobs">,
): AsyncGenerator<string, void, undefined> {
  const seen = new Set<string>();
  for (const table of ["bundles", "manifests"] as const) {
    for await (const digest of eachNamedIn(store, table)) {
      if (!seen.has(digest)) yield digest;
      seen.add(digest);
    }
  }
}

async function* eachNamedIn(
  store: Pick<Store, "referencedBlobs">,
  of: ReferencedBlobs["of"],
): AsyncGenerator<string, void, undefined> {
  let after: string | null = "";
  while (after !== null) {
    const page: ReferencedPage = await store.referencedBlobs({ of, after, limit: PAGE });
    yield* page.digests;
    after = page.next;
  }
}

async function copyBlobs(
  { store, blobs }: BackupParts,
  folder: string,
): Promise<Pick<BackupReport, "blobs" | "missing">> {
  await mkdir(folder, { mode: 0o700 });
  const missing: string[] = [];
  let count = 0;
  for await (const digest of eachReferenced(store)) {
    if (await blobs.copyTo(digest, folder)) count += 1;
    // A part that never arrived: its attempt says so in `evidence`.
    else missing.push(digest);
  }
  return { blobs: count, missing };
}

async function copyKeys(files: readonly string[], folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  for (const file of files) {
    if (existsSync(file)) copyFileSync(file, join(folder, basename(file)));
  }
}
