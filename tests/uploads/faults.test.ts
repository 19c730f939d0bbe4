import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { UPLOAD_CHUNK_BYTES_MAX } from "@aim/contract";
import { createShelf } from "../../runner/bundle/artifacts.ts";
import { uploadAll } from "../../runner/attempt/upload.ts";
import type { Attempt } from "../../runner/attempt/under-way.ts";
import { startPlane, type TestPlane } from "../harness/plane.ts";
import {
  executeAll,
  joinRunner,
  part,
  prepareAll,
  reportOf,
  type Part,
  type ScriptedRunner,
} from "../harness/scripted-runner.ts";

const MIB = 1024 * 1024;
const ALONE = { arguments: ["--no-runner"], runner: false } as const;

function draftsOf(plane: TestPlane): string[] {
  const folder = join(plane.stateDir, "blobs", "drafts");
  return existsSync(folder) ? readdirSync(folder) : [];
}

const requests = ["one", "two"].map((playbook) => ({ customer: "acme", playbook, hosts: ["one"] }));

/** A file system of its own for what the plane keeps, or null where this user may not mount one. */
function mountSmall(folder: string, bytes: number): (() => void) | null {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "none", folder], {
      stdio: "pipe",
    });
  } catch (error) {
    process.stdout.write(`no disk can be filled: ${String(error)}\n`);
    return null;
  }
  return () => void execFileSync("umount", ["-l", folder]);
}

test("a full disk takes evidence away, never the plane", async (context) => {
  await using plane = await startPlane(ALONE);
  const unmount = mountSmall(join(plane.stateDir, "blobs"), 2 * MIB);
  if (unmount === null) {
    context.skip("this user may mount no file system");
    return;
  }
  try {
    const [first, second] = await prepareAll(plane, requests);
    if (first === undefined || second === undefined) throw new Error("nothing is prepared");
    const runner = await joinRunner(plane.stateDir);
    const large = part("events.jsonl", Buffer.alloc(3 * MIB, "full "));
    const small = part("logs/stdout.log", "small");

    const result = executeAll(plane.client, first);
    const grant = await runner.takeOne();
    const send = ({ file, bytes }: Part, from: number) =>
      runner.upload(grant.attempt_id, {
        sha256: file.sha256,
        epoch: grant.epoch,
        bytes: bytes.subarray(from, from + MIB),
        from,
        total: bytes.length,
      });
    expect(await send(large, 0)).toMatchObject({ received: MIB });
    await expect(send(large, MIB)).rejects.toMatchObject({ code: "storage_full" });
    expect(draftsOf(plane)).toEqual([]);
    expect(await send(small, 0)).toMatchObject({ complete: true });
    await runner.complete(grant.attempt_id, reportOf(grant, [large.file, small.file]));
    expect(await result).toMatchObject({ state: "succeeded", evidence: "partial" });

    const next = executeAll(plane.client, second);
    const again = await runner.takeOne();
    await runner.complete(again.attempt_id, reportOf(again, [small.file]));
    expect(await next).toMatchObject({ state: "succeeded", evidence: "complete" });
  } finally {
    unmount();
  }
});

/** What the runner's own code uploads, with a call that may be interrupted in between. */
async function uploadWith(
  runner: ScriptedRunner,
  content: readonly Part[],
  afterChunk: (chunks: number) => Promise<void>,
) {
  const grant = await runner.takeOne();
  const shelf = createShelf();
  for (const { file, bytes } of content) shelf.keep(file.path, file.kind, bytes);
  let chunks = 0;
  const upload: ScriptedRunner["upload"] = async (id, chunk) => {
    const kept = await runner.upload(id, chunk);
    chunks += 1;
    await afterChunk(chunks);
    return kept;
  };
  const leaseUntil = performance.now() + grant.lease_ms;
  const attempt = { grant, shelf, lost: false, leaseUntil } as unknown as Attempt;
  return { grant, evidence: await uploadAll({ upload }, attempt) };
}

test("a plane that is killed in the middle of an upload and comes back has all of the evidence", async () => {
  const first = await startPlane(ALONE);
  const home = dirname(first.stateDir);
  let plane = first;
  try {
    const [prepared] = await prepareAll(first, requests);
    if (prepared === undefined) throw new Error("nothing is prepared");
    const runner = await joinRunner(first.stateDir);
    executeAll(first.client, prepared).catch(() => undefined);
    const large = part("events.jsonl", Buffer.alloc(3 * UPLOAD_CHUNK_BYTES_MAX, "kept "));
    const small = part("logs/stdout.log", "kept");
    let restarted: Promise<readonly string[]> | undefined;
    const restart = async () => {
      plane = await startPlane({ ...ALONE, home });
      return draftsOf(plane);
    };
    const { grant, evidence } = await uploadWith(runner, [large, small], async (chunks) => {
      if (chunks !== 1) return;
      await first.stop("SIGKILL");
      for (const name of [`run_${"0".repeat(26)}.1.${large.file.sha256}`, "put.1.1"]) {
        writeFileSync(join(first.stateDir, "blobs", "drafts", name), "left by a killed plane");
      }
      // The next chunks are sent while nobody answers.
      restarted = restart();
    });
    const left = (await restarted) ?? ["no restart"];
    expect(evidence).toBe("complete");
    expect(left.filter((name) => !name.startsWith(grant.attempt_id))).toEqual([]);
    await runner.complete(grant.attempt_id, reportOf(grant, [large.file, small.file]));
    const { result } = await plane.client.status(grant.attempt_id);
    expect(result).toMatchObject({ state: "succeeded", evidence: "complete" });
    expect(Buffer.from(await plane.client.artifact(grant.attempt_id, large.file))).toEqual(
      large.bytes,
    );
    expect(draftsOf(plane)).toEqual([]);
  } finally {
    await plane.stop();
    rmSync(home, { recursive: true, force: true });
  }
});
