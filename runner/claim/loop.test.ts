import { expect, test } from "vitest";
import type { Grant } from "@aim/contract";
import type { RunnerParts } from "../parts.ts";
import { startClaimLoop } from "./loop.ts";

/** An inspection of a job type that no driver has: it is answered at once, without a sandbox. */
const QUICK: Grant = {
  kind: "inspection",
  inspection_id: `ins_${"0".repeat(26)}`,
  job_type: "no.such.type",
  inputs: {},
  files: [],
  timeout_ms: 1,
};

/** Runs a loop with a plane that answers claims with these grants, then with none; answers what it was asked. */
function claiming(grants: readonly Grant[], slots: number) {
  const open = [...grants];
  const claims: string[] = [];
  const answers: (() => void)[] = [];
  const parts = {
    instanceId: "rnr_1",
    plane: {
      claim: async (body: { claim_id: string }, signal: AbortSignal) => {
        claims.push(body.claim_id);
        const grant = open.shift();
        if (grant !== undefined) return grant;
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("aborted")));
        });
      },
      inspected: () => new Promise<void>((resolve) => answers.push(resolve)),
    },
    log: () => undefined,
  } as unknown as RunnerParts;
  const drained = Promise.withResolvers<void>();
  const onDrain = () => drained.resolve();
  const loop = startClaimLoop(parts, { slots, register: async () => undefined, onDrain });
  return { loop, claims, answers, drained: drained.promise };
}

test("a grant to drain ends the claiming, and what is held is finished first", async () => {
  const { loop, claims, answers, drained } = claiming([QUICK, { kind: "drain" }], 3);
  await drained;
  let over = false;
  const end = loop.drain().then(() => (over = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(loop.held()).toEqual([QUICK.inspection_id]);
  expect(over).toBe(false);
  answers[0]?.();
  await end;
  expect(loop.held()).toEqual([]);
  expect(claims).toHaveLength(3);
});
