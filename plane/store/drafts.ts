// Artifacts that arrive in chunks. A draft is named by attempt, epoch and digest, outlives the process, and ends with its
// attempt: as kept bytes when it has its digest, else as nothing.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { AimError, type Uploaded } from "@aim/contract";
import { storing, writeDurably, type Blobs } from "./blobs.ts";

export interface ArrivedChunk {
  readonly attemptId: string;
  readonly epoch: number;
  readonly sha256: string;
  readonly bytes: Uint8Array;
  /** Where the chunk stands in the artifact. */
  readonly from: number;
  /** Bytes of the whole artifact. */
  readonly total: number;
}

export interface Drafts {
  /**
   * Keeps a chunk durably and, with the last one, the artifact. A chunk that is kept already is answered the same again.
   * `holds` is asked when its turn has come and throws for whom may not. Throws upload_offset with the number of bytes
   * kept, digest_mismatch and storage_full; after the latter two nothing of the draft is left.
   */
  readonly append: (chunk: ArrivedChunk, holds: () => Promise<void>) => Promise<Uploaded>;
  /** Forgets what an ended attempt left. */
  readonly drop: (attemptId: string) => Promise<void>;
  /** At start: forgets what belongs to no live attempt. */
  readonly recover: (live: readonly string[]) => Promise<void>;
}

export function createDrafts(blobs: Blobs): Drafts {
  const folder = blobs.draftsFolder;
  /** The last work on each attempt's drafts: one after another, so that no chunk comes after the end. */
  const turns = new Map<string, Promise<unknown>>();

  function inTurn<T>(attemptId: string, work: () => Promise<T>): Promise<T> {
    const turn = (turns.get(attemptId) ?? Promise.resolve()).then(work);
    const settled = turn
      .catch(() => undefined)
      .finally(() => turns.get(attemptId) === settled && turns.delete(attemptId));
    turns.set(attemptId, settled);
    return turn;
  }

  async function append(chunk: ArrivedChunk): Promise<Uploaded> {
    const { sha256, total } = chunk;
    const draft = join(folder, `${chunk.attemptId}.${chunk.epoch}.${sha256}`);
    if ((await blobs.sizeOf(sha256)) === total) {
      await rm(draft, { force: true });
      return { received: total, complete: true };
    }
    const kept = await sizeOf(draft);
    const end = chunk.from + chunk.bytes.length;
    const repeated = end <= kept && chunk.bytes.length > 0;
    if (chunk.from !== kept && !repeated) throw new AimError("upload_offset", String(kept));
    const received = Math.max(kept, end);
    await storing(draft, async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      if (!repeated) await writeDurably(draft, chunk.bytes, "a");
      if (received < total) return;
      if ((await digestOf(draft)) !== sha256) throw new AimError("digest_mismatch");
      await blobs.adopt(draft, sha256);
    });
    return { received, complete: received >= total };
  }

  async function remove(unwanted: (attemptId: string) => boolean): Promise<void> {
    const names = await readdir(folder).catch((): string[] => []);
    const drafts = names.filter((name) => unwanted(name.split(".")[0] ?? ""));
    await Promise.all(drafts.map((name) => rm(join(folder, name), { force: true })));
  }

  return {
    append: (chunk, holds) =>
      inTurn(chunk.attemptId, async () => {
        await holds();
        return append(chunk);
      }),
    drop: (attemptId) => inTurn(attemptId, () => remove((of) => of === attemptId)),
    recover: (live) => remove((of) => !live.includes(of)),
  };
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

async function digestOf(path: string): Promise<string> {
  const digest = createHash("sha256");
  await pipeline(createReadStream(path), digest);
  return digest.digest("hex");
}
