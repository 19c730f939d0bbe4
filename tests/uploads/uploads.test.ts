import { request } from "node:http";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  BUNDLE_FILE_BYTES_MAX,
  pathOf,
  UPLOAD_CHUNK_BYTES_MAX,
  type AttemptGrant,
  type Prepared,
  type RunResult,
} from "@aim/contract";
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
import { call, problemOf } from "../harness/wire.ts";

const ATTEMPTS = 7;
const CHUNK = 1_000;
const CHUNKS = 3;

let plane: TestPlane;
let runner: ScriptedRunner;
let prepared: Prepared[];

beforeAll(async () => {
  plane = await startPlane({ arguments: ["--no-runner"], runner: false });
  const asked = Array.from({ length: ATTEMPTS }, (_, at) => ({
    customer: "acme",
    playbook: `site-${at}`,
    hosts: ["one"],
  }));
  prepared = await prepareAll(plane, asked);
  runner = await joinRunner(plane.stateDir);
});
afterAll(() => plane[Symbol.asyncDispose]());

interface Taken {
  readonly grant: AttemptGrant;
  /** Sends the chunk that begins at `from`. */
  readonly send: (of: Part, from: number, length?: number) => Promise<unknown>;
  /** Reports these parts and answers how the run ended. */
  readonly end: (parts: readonly Part[]) => Promise<RunResult>;
}

async function take(): Promise<Taken> {
  const next = prepared.pop();
  if (next === undefined) throw new Error("nothing is prepared any more");
  const result = executeAll(plane.client, next);
  result.catch(() => undefined);
  const grant = await runner.takeOne();
  const { attempt_id: id, epoch } = grant;
  return {
    grant,
    send: ({ file, bytes }, from, length = CHUNK) =>
      runner.upload(id, {
        sha256: file.sha256,
        epoch,
        bytes: bytes.subarray(from, from + length),
        from,
        total: bytes.length,
      }),
    end: async (parts) => {
      await runner.complete(
        id,
        reportOf(
          grant,
          parts.map(({ file }) => file),
        ),
      );
      return result;
    },
  };
}

function drafts(): string[] {
  const folder = join(plane.stateDir, "blobs", "drafts");
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Distinct content in every test: kept bytes are shared by digest. */
const big = (letter: string, bytes = CHUNK * CHUNKS): Part =>
  part("events.jsonl", Buffer.alloc(bytes, `${letter}events `));

test.for(Array.from({ length: CHUNKS }, (_, at) => at))(
  "an upload that is cut after %i chunks makes evidence partial, and leaves no draft",
  async (chunks) => {
    const { send, end } = await take();
    const [whole, cut] = [part("logs/stdout.log", `whole ${chunks}`), big(String(chunks))];
    await send(whole, 0);
    for (let at = 0; at < chunks; at += 1) {
      expect(await send(cut, at * CHUNK)).toEqual({ received: (at + 1) * CHUNK, complete: false });
    }
    expect(drafts()).toHaveLength(chunks > 0 ? 1 : 0);
    expect(await end([whole, cut])).toMatchObject({ state: "succeeded", evidence: "partial" });
    await expect.poll(drafts).toEqual([]);
    await expect(send(cut, chunks * CHUNK)).rejects.toMatchObject({ code: "lease_lost" });
    expect(drafts()).toEqual([]);
  },
);

test("an upload goes on where the plane's bytes end, whatever was sent twice or never arrived", async () => {
  const { grant, send, end } = await take();
  const [file, empty] = [big("r"), part("logs/stderr.log", "")];
  await send(file, 0);
  await hangUp(grant, file);
  const wrong = { code: "upload_offset", at: String(CHUNK) };
  await expect(send(file, 2 * CHUNK)).rejects.toMatchObject(wrong);
  await expect(send(file, CHUNK / 2)).rejects.toMatchObject(wrong);
  expect(await send(file, 0)).toEqual({ received: CHUNK, complete: false });
  expect(await send(file, CHUNK)).toEqual({ received: 2 * CHUNK, complete: false });
  expect(await send(file, 2 * CHUNK)).toEqual({ received: 3 * CHUNK, complete: true });
  expect(await send(file, 2 * CHUNK)).toEqual({ received: 3 * CHUNK, complete: true });
  expect(await send(empty, 0)).toEqual({ received: 0, complete: true });
  expect(await end([file, empty])).toMatchObject({ evidence: "complete" });
  expect(Buffer.from(await plane.client.artifact(grant.attempt_id, file.file))).toEqual(file.bytes);
  expect(drafts()).toEqual([]);
});

/** Announces the second chunk, sends half of it and goes. */
async function hangUp({ attempt_id, epoch }: AttemptGrant, { file, bytes }: Part): Promise<void> {
  const outgoing = request({
    socketPath: join(plane.stateDir, "runner.sock"),
    method: "PUT",
    path: pathOf("upload", { run_id: attempt_id, sha256: file.sha256 }),
    headers: {
      "aim-epoch": String(epoch),
      "content-type": "application/octet-stream",
      "content-length": CHUNK,
      "content-range": `bytes ${CHUNK}-${2 * CHUNK - 1}/${file.size}`,
    },
  });
  const gone = new Promise((resolve) => outgoing.once("close", resolve));
  outgoing.on("error", () => undefined);
  outgoing.write(bytes.subarray(CHUNK, CHUNK + CHUNK / 2), () => outgoing.destroy());
  await gone;
}

test("bytes that have not the digest they were named by are kept nowhere", async () => {
  const { send, end } = await take();
  const [one, two] = [
    part("logs/stdout.log", "swapped one"),
    part("logs/stderr.log", "swapped two"),
  ];
  const mismatch = { code: "digest_mismatch" };
  await expect(send({ ...one, file: two.file }, 0)).rejects.toMatchObject(mismatch);
  await expect(send({ ...two, file: one.file }, 0)).rejects.toMatchObject(mismatch);
  const damaged = { file: big("d").file, bytes: Buffer.from(big("d").bytes) };
  damaged.bytes[CHUNK] = 0;
  await send(damaged, 0);
  await send(damaged, CHUNK);
  await expect(send(damaged, 2 * CHUNK)).rejects.toMatchObject(mismatch);
  expect(drafts()).toEqual([]);
  expect(await end([one, two, damaged])).toMatchObject({ evidence: "none" });
});

test("an upload that was refused may begin anew", async () => {
  const { send, end } = await take();
  const file = big("n");
  await expect(send({ ...part("x", "wrong"), file: file.file }, 0)).rejects.toMatchObject({
    code: "digest_mismatch",
  });
  for (let at = 0; at < CHUNKS; at += 1) await send(file, at * CHUNK);
  expect(await end([file])).toMatchObject({ evidence: "complete" });
});

test("the largest chunk is taken, a larger one and an artifact beyond the limit are refused", async () => {
  const { grant, send, end } = await take();
  const large = big("l", UPLOAD_CHUNK_BYTES_MAX + 1);
  // A server that refuses a body may close while it is still being sent.
  const tooLarge = { code: expect.stringMatching(/^(request_too_large|EPIPE|ECONNRESET)$/) };
  await expect(send(large, 0, UPLOAD_CHUNK_BYTES_MAX + 1)).rejects.toMatchObject(tooLarge);
  const { sha256 } = part("x", "x").file;
  const { attempt_id: id, epoch } = grant;
  const total = BUNDLE_FILE_BYTES_MAX + 1;
  const beyond = { sha256, epoch, bytes: Buffer.from("x"), from: 0, total };
  await expect(runner.upload(id, beyond)).rejects.toMatchObject(tooLarge);
  expect(drafts()).toEqual([]);
  await send(large, 0, UPLOAD_CHUNK_BYTES_MAX);
  await send(large, UPLOAD_CHUNK_BYTES_MAX);
  expect(await end([large])).toMatchObject({ evidence: "complete" });
});

test.for([
  "",
  "bytes 0-2/4",
  "bytes 0-3/3",
  "bytes 4-3/4",
  "bytes */4",
  "bytes 0-3/*",
  "items 0-3/4",
  "bytes -1-3/4",
])("the range %j does not fit four bytes", async (range) => {
  const { sha256 } = part("x", "x").file;
  const answer = await call({
    socketPath: join(plane.stateDir, "runner.sock"),
    method: "PUT",
    path: pathOf("upload", { run_id: `run_${"0".repeat(26)}`, sha256 }),
    body: Buffer.from("four"),
    contentType: "application/octet-stream",
    headers: { "aim-epoch": "1", "content-range": range },
  });
  expect(problemOf(answer)).toMatchObject({ code: "invalid_request", at: "/content-range" });
});

test("a name that is no digest leads nowhere", async () => {
  const unknown = `run_${"0".repeat(26)}`;
  const chunk = { epoch: 1, bytes: Buffer.from("x"), from: 0, total: 1 };
  for (const sha256 of ["../../seal.key", "A".repeat(64), part("x", "x").file.sha256]) {
    await expect(runner.upload(unknown, { ...chunk, sha256 })).rejects.toMatchObject({
      code: "not_found",
    });
  }
  expect(drafts()).toEqual([]);
});
