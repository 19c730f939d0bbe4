// SPDX-License-Identifier: Apache-2.0
// A sandbox's directory on the host: workspace, egress socket, and the record
// by which a later runner knows whether what is left in it is ours to kill.
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { chmod, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { SandboxError } from "./config.ts";
import type { SandboxConfig } from "./config.ts";
import { bootId, processFacts } from "./proof.ts";
import type { ProcessIdentity } from "./proof.ts";

const RECORD = "owner.json";

export interface OwnerRecord {
  readonly boot: string;
  readonly runner: ProcessIdentity;
  readonly init: ProcessIdentity | null;
  readonly namespace: string | null;
}

export interface SandboxHome {
  readonly id: string;
  readonly workspace: string;
  readonly egressSocket: string;
  record(init: ProcessIdentity, namespace: string): void;
  remove(): Promise<void>;
}

function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, start: processFacts(process.pid)?.start ?? "" };
}

function writeRecord(directory: string, record: OwnerRecord): void {
  const path = join(directory, RECORD);
  // Whole or not at all: a runner killed in between must not leave half a record.
  writeFileSync(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/**
 * Ours, and passable only for the sandboxes' own group: as root the runner
 * keeps it, and the sandbox's uid may walk through but not list.
 */
function claimDirectory(path: string, uid: number | null): void {
  if (uid === null || process.getuid?.() !== 0) {
    chmodSync(path, 0o700);
    return;
  }
  chownSync(path, 0, uid);
  chmodSync(path, 0o710);
}

function makeRuntimeDirectory(config: SandboxConfig): void {
  mkdirSync(config.runtimeDir, { recursive: true, mode: 0o700 });
  const { uid } = statSync(config.runtimeDir);
  if (uid !== process.getuid?.())
    throw new SandboxError("bad_config", "runtimeDir is not the runner's");
  claimDirectory(config.runtimeDir, config.uid);
}

export function makeHome(config: SandboxConfig, id: string): SandboxHome {
  makeRuntimeDirectory(config);
  const directory = join(config.runtimeDir, id);
  const workspace = join(directory, "work");
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch {
    // Never a second sandbox in one workspace, not even one after the other.
    throw new SandboxError("exists", id);
  }
  // First of all, so that a runner that dies here leaves no riddle.
  const record: OwnerRecord = {
    boot: bootId(),
    runner: ownIdentity(),
    init: null,
    namespace: null,
  };
  writeRecord(directory, record);
  claimDirectory(directory, config.uid);
  mkdirSync(workspace, { mode: 0o700 });
  if (config.uid !== null && process.getuid?.() === 0) chownSync(workspace, config.uid, config.uid);
  return {
    id,
    workspace,
    egressSocket: join(directory, "egress.sock"),
    record: (init, namespace) => {
      writeRecord(directory, { ...record, init, namespace });
    },
    remove: () => removeHome(directory),
  };
}

/** Tools leave directories nobody may write in; every process is dead by now. */
async function openUp(directory: string): Promise<void> {
  await chmod(directory, 0o700);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) await openUp(join(directory, entry.name));
  }
}

export async function removeHome(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
  } catch {
    await openUp(directory);
    await rm(directory, { recursive: true, force: true });
  }
}

const identityOf = (value: unknown): ProcessIdentity | null => {
  if (typeof value !== "object" || value === null || !("pid" in value) || !("start" in value))
    return null;
  const { pid, start } = value;
  return Number.isSafeInteger(pid) && Number(pid) > 0 && typeof start === "string"
    ? { pid: Number(pid), start }
    : null;
};

/** Null when there is none or it is damaged. */
export function readRecord(directory: string): OwnerRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(join(directory, RECORD), "utf8"));
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  if (!("boot" in value) || !("runner" in value) || !("init" in value) || !("namespace" in value))
    return null;
  const runner = identityOf(value.runner);
  if (typeof value.boot !== "string" || runner === null) return null;
  const namespace = typeof value.namespace === "string" ? value.namespace : null;
  return { boot: value.boot, runner, init: identityOf(value.init), namespace };
}
