import { expect, test } from "vitest";
import { AimError, type Completion, type Uploaded } from "@aim/contract";
import { createShelf } from "../bundle/artifacts.ts";
import type { Chunk } from "../plane-client.ts";
import type { RunnerParts } from "../parts.ts";
import { report } from "./report.ts";
import type { Attempt } from "./under-way.ts";

type Upload = (chunk: Chunk) => Promise<void>;

/** A lease that outlives one repeated call. */
const LEASE_MS = 400;

/** Reports an attempt that left four files, with a plane that takes uploads as told; answers what was completed. */
async function completed(
  upload: Upload,
  keptAll = true,
  sandbox: object | null = null,
): Promise<Completion> {
  const told: Completion[] = [];
  const parts = {
    plane: {
      upload: async (_: string, chunk: Chunk): Promise<Uploaded> => {
        await upload(chunk);
        const received = chunk.from + chunk.bytes.length;
        return { received, complete: received === chunk.total };
      },
      complete: async (_: string, completion: Completion) => void told.push(completion),
    },
    log: () => undefined,
  } as unknown as RunnerParts;
  const attempt = {
    grant: { attempt_id: "run_1", epoch: 1, lease_ms: 1, spec: { job_type: "t" } },
    sandbox,
    lost: false,
    leaseUntil: performance.now() + LEASE_MS,
    shelf: createShelf(),
    queue: { close: async () => undefined, lastSequence: () => 0, lost: () => 0 },
    emitter: { logText: () => "log", eventsText: () => "events", keptAll: () => keptAll },
  } as unknown as Attempt;
  await report(parts, attempt, { verdict: "succeeded" } as Completion["outcome"]);
  const [completion] = told;
  if (completion === undefined) throw new Error("nothing was completed");
  return completion;
}

/** Fails the uploads from the `from`th on with what `error` makes. */
function failing(from: number, error: () => Error): Upload {
  const seen = new Set<string>();
  return async ({ sha256 }) => {
    seen.add(sha256);
    if ([...seen].indexOf(sha256) >= from) throw error();
  };
}

test("evidence is complete only when every part was taken and every event kept", async () => {
  expect((await completed(async () => undefined)).manifest).toMatchObject({
    evidence: "complete",
    files: { length: 4 },
  });
  expect((await completed(async () => undefined, false)).manifest.evidence).toBe("partial");
});

test.for([
  ["refused for its digest", () => new AimError("digest_mismatch")],
  ["refused for want of room", () => new AimError("storage_full")],
  ["cut until the lease has ended", () => new Error("socket hang up")],
] as const)(
  "an upload that is %s makes evidence partial, and none where nothing was taken",
  async ([, error]) => {
    expect((await completed(failing(3, error))).manifest.evidence).toBe("partial");
    if (!(error() instanceof AimError)) return;
    const nothing = await completed(failing(0, error));
    expect(nothing.manifest).toMatchObject({ evidence: "none", files: { length: 4 } });
  },
);

test("an upload that is cut once is sent again", async () => {
  let cuts = 1;
  const once: Upload = async () => {
    cuts -= 1;
    if (cuts >= 0) throw new Error("socket hang up");
  };
  expect((await completed(once)).manifest.evidence).toBe("complete");
});

test("nothing is said to be dead that the sandbox could not prove dead", async () => {
  const leaving = (killConfirmed: boolean) => ({
    destroy: async () => ({ killConfirmed, leftovers: Number(!killConfirmed) }),
    isolation: {
      kind: "process",
      bubblewrap: "0",
      namespaces: [],
      seccomp: { sha256: "0" },
      cgroup: "none",
      network: "none",
    },
    egress: { allowed: 0, denied: 0 },
  });
  const taken: Upload = async () => undefined;
  expect((await completed(taken, true, leaving(true))).kill_confirmed).toBe(true);
  expect((await completed(taken, true, leaving(false))).kill_confirmed).toBe(false);
});
