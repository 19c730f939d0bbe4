// A job that was prepared by a real runner and is then taken by one of the test's own.
import { dirname } from "node:path";
import type { AttemptGrant } from "@aim/contract";
import {
  executeAll,
  joinRunner,
  prepareAll,
  type ScriptedRunner,
} from "../harness/scripted-runner.ts";
import { startPlane, type TestPlane } from "../harness/plane.ts";

export interface Submitted {
  readonly jobId: string;
  readonly grant: AttemptGrant;
  readonly runner: ScriptedRunner;
}

export function startAlone(home: string | null, limits: readonly string[]): Promise<TestPlane> {
  const options = { runner: false, arguments: ["--no-runner", ...limits] } as const;
  return startPlane(home === null ? options : { ...options, home });
}

export const homeOf = (plane: TestPlane): string => dirname(plane.stateDir);

export async function submit(plane: TestPlane): Promise<Submitted> {
  const request = { customer: "acme", playbook: "one", hosts: ["one"] };
  const [prepared] = await prepareAll(plane, [request]);
  if (prepared === undefined) throw new Error("nothing is prepared");
  const runner = await joinRunner(plane.stateDir);
  // Its reader may lose the plane; the run does not.
  executeAll(plane.client, prepared).catch(() => undefined);
  const grant = await runner.takeOne();
  return { jobId: grant.job_id, grant, runner };
}
