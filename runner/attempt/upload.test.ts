import { expect, test } from "vitest";
import { AimError, UPLOAD_CHUNK_BYTES_MAX } from "@aim/contract";
import { createShelf } from "../bundle/artifacts.ts";
import type { Chunk } from "../plane-client.ts";
import type { Attempt } from "./under-way.ts";
import { uploadAll } from "./upload.ts";

const SIZE = 2 * UPLOAD_CHUNK_BYTES_MAX + 1;

/** A plane that keeps what comes in order; `answer` may fail a call before or after it was kept. */
function keeping(fail: (call: number) => "before" | "after" | null = () => null) {
  let kept = Buffer.alloc(0);
  let calls = 0;
  const upload = async (_: string, chunk: Chunk) => {
    calls += 1;
    const fault = fail(calls);
    if (fault === "before") throw new Error("socket hang up");
    if (chunk.from !== kept.length) throw new AimError("upload_offset", String(kept.length));
    kept = Buffer.concat([kept, chunk.bytes]);
    if (fault === "after") throw new Error("socket hang up");
    return { received: kept.length, complete: kept.length === chunk.total };
  };
  return { upload, kept: () => kept, calls: () => calls };
}

function attemptWith(content: Uint8Array, leaseMs = 60_000): Attempt {
  const shelf = createShelf();
  shelf.keep("events.jsonl", "events", content);
  const grant = { attempt_id: "run_1", epoch: 1 };
  return { grant, shelf, lost: false, leaseUntil: performance.now() + leaseMs } as Attempt;
}

const content = Buffer.alloc(SIZE, "part ");

test("an artifact travels in chunks, an empty one and a small one in one", async () => {
  const plane = keeping();
  expect(await uploadAll(plane, attemptWith(content))).toBe("complete");
  expect(plane.calls()).toBe(3);
  expect(plane.kept().equals(content)).toBe(true);
  for (const few of [Buffer.alloc(0), Buffer.from("few")]) {
    const small = keeping();
    expect(await uploadAll(small, attemptWith(few))).toBe("complete");
    expect(small.calls()).toBe(1);
  }
});

test.for(["before", "after"] as const)(
  "an upload that is cut %s a chunk was kept goes on where the plane's bytes end",
  async (when) => {
    for (const cut of [1, 2, 3]) {
      const plane = keeping((call) => (call === cut ? when : null));
      expect(await uploadAll(plane, attemptWith(content))).toBe("complete");
      expect(plane.kept().equals(content)).toBe(true);
    }
  },
);

test("an upload whose lease has ended is given up", async () => {
  const plane = keeping(() => "before");
  expect(await uploadAll(plane, attemptWith(content, 300))).toBe("none");
  expect(plane.calls()).toBeLessThan(4);
});

test("a plane that sends an upload back for ever is given up", async () => {
  let calls = 0;
  const upload = async () => {
    calls += 1;
    throw new AimError("upload_offset", "0");
  };
  expect(await uploadAll({ upload }, attemptWith(content))).toBe("none");
  expect(calls).toBeLessThan(20);
});
