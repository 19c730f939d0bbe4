// Makes a state folder of a backup, or nothing: what is not whole is refused before a plane can start on it.
import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Compile } from "typebox/compile";
import { BackupReportSchema, type BackupReport } from "@aim/contract";
import type { Blobs } from "../store/blobs.ts";
import { StoreRefused } from "../store/refused.ts";
import type { Store } from "../store/store.ts";
import { BACKUP_PLACES, eachReferenced } from "./backup.ts";

export interface RestoreParts {
  readonly openBlobs: (folder: string) => Blobs;
  /** Throws StoreRefused for a file that is not whole. */
  readonly checkFile: (path: string) => void;
  /** Opens a copy, bringing it to the present schema. */
  readonly openStore: (path: string) => Promise<Store>;
  /** Names of the database and the bytes in a state folder. */
  readonly names: { readonly database: string; readonly blobs: string };
}

const SHA256 = /^[0-9a-f]{64}$/;
const report = Compile(BackupReportSchema);

/** Throws StoreRefused, and leaves nothing behind, for anything that is missing, damaged or broken. */
export async function restore(
  parts: RestoreParts,
  from: string,
  stateDir: string,
): Promise<BackupReport> {
  const told = readReport(from);
  if (existsSync(stateDir) && readdirSync(stateDir).length > 0) {
    throw new StoreRefused(`${stateDir} is not empty: a backup is restored into a fresh folder`);
  }
  const draft = `${stateDir}.restoring`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  try {
    const blobs = parts.openBlobs(join(draft, parts.names.blobs));
    await copyBlobs(parts.openBlobs(join(from, BACKUP_PLACES.blobs)), blobs, from);
    copyKeys(join(from, BACKUP_PLACES.keys), draft);
    if (told.database === "sqlite") {
      const path = join(draft, parts.names.database);
      copyFileSync(join(from, BACKUP_PLACES.database), path);
      parts.checkFile(path);
      await checkRows(await parts.openStore(path), blobs, told);
    }
    rmSync(stateDir, { recursive: true, force: true });
    renameSync(draft, stateDir);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
  return told;
}

function readReport(from: string): BackupReport {
  const path = join(from, BACKUP_PLACES.report);
  let found: unknown = null;
  try {
    found = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new StoreRefused(`${from} is no whole backup: ${BACKUP_PLACES.report} cannot be read`, {
      cause: error,
    });
  }
  if (report.Check(found)) return found;
  throw new StoreRefused(`${path} is not of this form: it may come from a newer release`);
}

async function copyBlobs(source: Blobs, target: Blobs, from: string): Promise<void> {
  for (const digest of blobNames(join(from, BACKUP_PLACES.blobs))) {
    await target.put(await source.read(digest), digest).catch((error: unknown) => {
      throw new StoreRefused(`the blob ${digest} is damaged or cannot be kept`, { cause: error });
    });
  }
}

function blobNames(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => path.split("/").at(-1) ?? "")
    .filter((name) => SHA256.test(name));
}

function copyKeys(folder: string, to: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(to, name));
}

async function checkRows(store: Store, blobs: Blobs, told: BackupReport): Promise<void> {
  try {
    const broken = await store.brokenInvariants();
    if (broken.length > 0) throw new StoreRefused(`the backup is broken: ${broken.join("; ")}`);
    const missing = new Set(told.missing);
    for await (const digest of eachReferenced(store)) {
      if (!missing.has(digest) && !(await blobs.has(digest))) {
        throw new StoreRefused(`the backup is broken: the blob ${digest} is missing`);
      }
    }
  } finally {
    await store.close();
  }
}
