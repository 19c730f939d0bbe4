// SPDX-License-Identifier: Apache-2.0
// At runner start: end and remove what a dead runner left in the runtime
// directory. A pid alone is never proof: pid, start time and boot id together
// are, and a namespace counts only while its own first process is that one.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { readRecord, removeHome } from "./home.ts";
import type { OwnerRecord } from "./home.ts";
import { bootId, holdNamespace, isAlive, killNamespace, namespaceOf } from "./proof.ts";

export interface OrphanReport {
  readonly id: string;
  /** `owned`: its runner lives. `unknown`: no record yet, and too young to say. */
  readonly what: "owned" | "removed" | "killed_and_removed" | "survived" | "unknown";
  readonly leftovers: number;
}

/** The record is written before anything is started: without one nothing runs. */
const RECORD_TAKES_MS = 60_000;

async function end(record: OwnerRecord): Promise<{ killed: boolean; leftovers: number }> {
  const { init, namespace } = record;
  const nothing = { killed: false, leftovers: 0 };
  // A namespace ends with its first process, so without that one there is none.
  if (init === null || namespace === null || record.boot !== bootId() || !isAlive(init))
    return nothing;
  let letGo: () => void;
  try {
    letGo = holdNamespace(init.pid);
  } catch {
    return nothing;
  }
  try {
    // Asked after holding: the inode cannot change its meaning from here on.
    if (!isAlive(init) || namespaceOf(init.pid) !== namespace) return nothing;
    const { leftovers } = await killNamespace(init, namespace);
    return { killed: true, leftovers };
  } finally {
    letGo();
  }
}

async function clean(runtimeDir: string, id: string): Promise<OrphanReport> {
  const directory = join(runtimeDir, id);
  const record = readRecord(directory);
  if (record === null) {
    const age = Date.now() - statSync(directory).mtimeMs;
    if (age < RECORD_TAKES_MS) return { id, what: "unknown", leftovers: 0 };
    await removeHome(directory);
    return { id, what: "removed", leftovers: 0 };
  }
  if (record.boot === bootId() && isAlive(record.runner))
    return { id, what: "owned", leftovers: 0 };
  const { killed, leftovers } = await end(record);
  if (leftovers > 0) return { id, what: "survived", leftovers };
  await removeHome(directory);
  return { id, what: killed ? "killed_and_removed" : "removed", leftovers: 0 };
}

export async function cleanOrphans(runtimeDir: string): Promise<readonly OrphanReport[]> {
  let entries: string[];
  try {
    entries = readdirSync(runtimeDir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
  const reports: OrphanReport[] = [];
  for (const id of entries) reports.push(await clean(runtimeDir, id));
  return reports;
}
