// `aimd backup` and `aimd restore`: a running plane is asked; where none runs the state folder is taken for a moment.
import { wallNow } from "../base/clock.ts";
import { placesIn, type BackupWish, type RestoreWish } from "../config/settings.ts";
import { createBlobs } from "../store/blobs.ts";
import { openPostgresStore } from "../store/dialects/postgres/store.ts";
import { checkFile } from "../store/dialects/sqlite/check.ts";
import { lockFolder } from "../store/dialects/sqlite/open.ts";
import { openSqliteStore } from "../store/dialects/sqlite/store.ts";
import type { BackupReport } from "@aim/contract";
import { askForBackup } from "./ask.ts";
import { BACKUP_PLACES, makeBackup } from "./backup.ts";
import { restore } from "./restore.ts";

const throwIt = (error: Error): never => {
  throw error;
};

export async function backupCommand(wish: BackupWish): Promise<BackupReport> {
  const asked = { path: wish.target, with_keys: wish.withKeys };
  const places = placesIn(wish.stateDir);
  return (await askForBackup(places.clientSocket, asked)) ?? backupAtRest(wish);
}

async function backupAtRest({ stateDir, database, target, withKeys }: BackupWish) {
  const places = placesIn(stateDir);
  const unlock = lockFolder(places.lock);
  const store =
    database === null
      ? await openSqliteStore(places.database, throwIt, { migrate: false })
      : await openPostgresStore(database, () => undefined, { migrate: false });
  try {
    const parts = { store, blobs: createBlobs(places.blobs), clock: { now: wallNow } };
    const keys = keysIn(stateDir);
    return await makeBackup({ ...parts, keys }, { path: target, with_keys: withKeys });
  } finally {
    await store.close();
    unlock();
  }
}

export function keysIn(stateDir: string) {
  const places = placesIn(stateDir);
  return {
    public: [places.sealPublicKey],
    secret: [places.sealKey, places.webhookKey, places.runnerTokenKey],
  };
}

export function restoreCommand({ source, stateDir }: RestoreWish): Promise<BackupReport> {
  const parts = {
    openBlobs: createBlobs,
    checkFile,
    openStore: (path: string) => openSqliteStore(path, throwIt),
    names: { database: BACKUP_PLACES.database, blobs: BACKUP_PLACES.blobs },
  };
  return restore(parts, source, stateDir);
}
