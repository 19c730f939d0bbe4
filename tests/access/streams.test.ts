import { afterAll, beforeAll, expect, test } from "vitest";
import { pathOf } from "@aim/contract";
import { grant, startTeamPlane, type TeamPlane } from "../harness/team-plane.ts";
import { makeWaitingJob } from "../harness/waiting-job.ts";

let plane: TeamPlane;
let runId = "";
beforeAll(async () => {
  plane = await startTeamPlane();
  ({ runId } = await makeWaitingJob(plane.client));
});
afterAll(() => plane[Symbol.asyncDispose]());

test.for([
  ["is disabled", { disabled: true }],
  ["loses the role", { roles: [grant("viewer", "beta")] }],
] as const)("whoever %s while a run is followed reads no further", async ([what, change]) => {
  const member = await plane.join(`gone-${what.replaceAll(" ", "-")}`, [grant("viewer")]);
  const path = pathOf("runEvents", { run_id: runId });
  const headers = { authorization: `Bearer ${member.token}` };
  const answer = await fetch(`${plane.url}${path}`, { headers });
  expect(answer.status).toBe(200);
  const rest = answer.text();
  const before = performance.now();
  await plane.askLocally({ path: `/v1/users/${member.id}`, body: change });
  const line = JSON.parse(await rest) as { type: string; error: { code: string } };
  expect(line).toMatchObject({ type: "error", error: { code: "not_found" } });
  // One look a second, and a second for which who reads is remembered; the rest is for a busy machine.
  expect(performance.now() - before).toBeLessThan(10_000);
});
