import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { createClientOver, type RunLine } from "./client.ts";
import { ClientError } from "./client-error.ts";
import type { Answer, Call, Transport } from "./transport.ts";

const RESULT = { state: "succeeded", targets: [], target_summary: {} };
const event = (sequence: number) => ({
  type: "event",
  event: { run_id: "run_1", kind: "stage", sequence, stage: "running" },
});
const response = { type: "response", response: RESULT };

interface Reply {
  readonly lines?: readonly unknown[];
  readonly bytes?: Uint8Array;
  readonly status?: number;
  readonly refused?: boolean;
}

/** Answers each call with the next reply, and remembers the calls. */
function scripted(replies: readonly Reply[]): { transport: Transport; calls: Call[] } {
  const calls: Call[] = [];
  const transport: Transport = async (call) => {
    const reply = replies[calls.length];
    calls.push(call);
    if (reply === undefined || reply.refused === true) throw new ClientError("unreachable");
    return answer(reply);
  };
  return { transport, calls };
}

function answer({ lines = [], bytes, status = 200 }: Reply): Answer {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    if (bytes !== undefined) yield bytes;
    for (const line of lines) yield new TextEncoder().encode(`${JSON.stringify(line)}\n`);
  }
  return { status, chunks: chunks() };
}

function clientOf(replies: readonly Reply[]) {
  const { transport, calls } = scripted(replies);
  const delays: number[] = [];
  const wait = async (milliseconds: number) => void delays.push(milliseconds);
  return {
    client: createClientOver(transport, { tries: 3, firstDelayMs: 100, wait }),
    calls,
    delays,
  };
}

async function sequences(lines: AsyncIterable<RunLine>): Promise<(number | string)[]> {
  const seen: (number | string)[] = [];
  for await (const line of lines) {
    seen.push(line.type === "event" ? line.event.sequence : line.type);
  }
  return seen;
}

const execution = { request: {} as never, revision: "0".repeat(64) };

test("an error line is thrown as the contract's error with its place", async () => {
  const error = { type: "error", error: { code: "unknown_field", message: "m", at: "/request/x" } };
  const { client } = clientOf([{ lines: [error], status: 400 }]);
  await expect(client.capabilities()).rejects.toMatchObject({
    name: "AimError",
    code: "unknown_field",
    at: "/request/x",
  });
});

test("an error of a newer plane is an error all the same", async () => {
  const { client } = clientOf([
    { lines: [{ type: "error", error: { code: "newer", message: "m" } }] },
  ]);
  await expect(client.capabilities()).rejects.toMatchObject({ code: "bad_answer" });
});

test("a run is resumed after a cut from the last event on", async () => {
  const { client, calls, delays } = clientOf([
    { lines: [event(1), event(2)] },
    { refused: true },
    { lines: [event(2), event(3)] },
    { lines: [event(4), response] },
  ]);
  expect(await sequences(client.execute(execution))).toEqual([1, 2, 3, 4, "response"]);
  expect(calls.slice(1).map((call) => call.path)).toEqual([
    "/v1/runs/run_1/events?after=2",
    "/v1/runs/run_1/events?after=2",
    "/v1/runs/run_1/events?after=3",
  ]);
  expect(delays).toEqual([100, 100]);
});

test("an execute that is cut before its first event is never sent twice", async () => {
  const { client, calls } = clientOf([{ lines: [] }, { lines: [response] }]);
  await expect(sequences(client.execute(execution))).rejects.toMatchObject({ code: "stream_cut" });
  expect(calls).toHaveLength(1);
});

test("following gives up after some tries without news", async () => {
  const { client, calls, delays } = clientOf([]);
  await expect(sequences(client.follow("run_1"))).rejects.toMatchObject({ code: "unreachable" });
  expect(calls).toHaveLength(4);
  expect(delays).toEqual([100, 200, 400]);
});

test("a refusal is not retried", async () => {
  const { client, calls } = clientOf([
    { lines: [{ type: "error", error: { code: "not_found", message: "m" } }] },
  ]);
  await expect(sequences(client.follow("run_1"))).rejects.toMatchObject({ code: "not_found" });
  expect(calls).toHaveLength(1);
});

test("a result without its accounting is no result", async () => {
  const { client } = clientOf([
    { lines: [{ type: "response", response: { state: "succeeded" } }] },
  ]);
  await expect(sequences(client.follow("run_1"))).rejects.toMatchObject({ code: "bad_answer" });
});

test("an artifact is given only with the digest that it was asked by", async () => {
  const bytes = new TextEncoder().encode("kept");
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const { client } = clientOf([{ bytes }, { bytes }, { bytes }, { bytes }]);
  expect(await client.artifact("run_1", { sha256, size: 4 })).toEqual(bytes);
  await expect(client.artifact("run_1", { sha256: "0".repeat(64), size: 4 })).rejects.toMatchObject(
    {
      code: "digest_mismatch",
    },
  );
  await expect(client.artifact("run_1", { sha256, size: 3 })).rejects.toMatchObject({
    code: "digest_mismatch",
  });
  await expect(client.artifact("run_1", { sha256, size: 5 })).rejects.toMatchObject({
    code: "stream_cut",
  });
});

test("a raw line goes out as it came in", async () => {
  const { client, calls } = clientOf([{ lines: [response] }]);
  const line = '{ "operation":"status" , "n": 1.0, "n": 2 }';
  for await (const read of client.raw(line)) expect(read.line.type).toBe("response");
  expect(calls[0]?.body).toBe(line);
});
