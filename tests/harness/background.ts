// Starts a run that goes on while the test does something to it.
import type { RunEvent, RunRequest, RunResult } from "@aim/contract";
import { until, type TestPlane } from "./plane.ts";

export interface Background {
  readonly runId: string;
  readonly events: readonly RunEvent[];
  readonly result: Promise<RunResult>;
  /** Waits until an event fits. */
  readonly saw: (fits: (event: RunEvent) => boolean, ms?: number) => Promise<void>;
}

/** Prepares and executes; answers with the first event, and follows the run from then on. */
export async function startRun(plane: TestPlane, asked: RunRequest): Promise<Background> {
  const { request, revision } = await plane.client.prepare({ progress_mode: "detail", ...asked });
  const events: RunEvent[] = [];
  const first = Promise.withResolvers<string>();
  const follow = async (): Promise<RunResult> => {
    for await (const line of plane.client.execute({ request, revision })) {
      if (line.type === "response") return line.response;
      events.push(line.event);
      first.resolve(line.event.run_id);
    }
    throw new Error("the run ended without a result");
  };
  const result = follow();
  result.catch((error: unknown) => first.reject(error));
  return {
    runId: await first.promise,
    events,
    result,
    saw: (fits, ms = 30_000) => until(ms, () => events.some(fits)),
  };
}
