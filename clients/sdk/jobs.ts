// The job API as typed functions: bundles, jobs, retries, runners and what attempts took.
import {
  pathOf,
  type AcceptedJob,
  type AttemptState,
  type Bundle,
  type JobRequest,
  type JobView,
  type KeptBundle,
  type RetryRequest,
  type RunnerView,
  type Usage,
} from "@aim/contract";
import { sha256Hex } from "./digest.ts";
import { drain, queryOf, refusalOf } from "./json.ts";
import type { Call, Transport } from "./transport.ts";

export interface JobQuery {
  /** Only jobs older than this one. */
  readonly before?: string | undefined;
  readonly state?: AttemptState | undefined;
  readonly customer?: string | undefined;
  readonly limit?: number | undefined;
}

export interface JobCalls {
  /** Keeps the bytes of one file of a bundle; answers their digest. */
  uploadSource(bytes: Uint8Array<ArrayBuffer>): Promise<string>;
  createBundle(bundle: Bundle): Promise<KeptBundle>;
  /** Answers the same for the same key and spec, however often it is sent. */
  createJob(request: JobRequest): Promise<AcceptedJob>;
  job(jobId: string): Promise<JobView>;
  jobs(query?: JobQuery): Promise<readonly JobView[]>;
  cancelJob(jobId: string): Promise<JobView>;
  /** A new attempt of an ended job. */
  retryJob(jobId: string, request: RetryRequest): Promise<AcceptedJob>;
  runners(): Promise<readonly RunnerView[]>;
  /** The runner finishes what it holds, takes nothing more and ends. */
  drainRunner(runnerInstanceId: string): Promise<void>;
  /** What ended attempts took, after a cursor, oldest first. */
  usage(after?: number): Promise<readonly Usage[]>;
}

export type Json = <T>(call: Call) => Promise<T>;

export function jobCalls(json: Json, transport: Transport): JobCalls {
  const post = <T>(path: string, body?: unknown) =>
    json<T>({
      method: "POST",
      path,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  return {
    uploadSource: async (bytes) => {
      const sha256 = await sha256Hex(bytes);
      const answer = await transport({
        method: "PUT",
        path: pathOf("sourceUpload", { sha256 }),
        bytes,
      });
      if (answer.status >= 300) throw await refusalOf(answer);
      await drain(answer);
      return sha256;
    },
    createBundle: (bundle) => post(pathOf("bundleCreate"), bundle),
    createJob: (request) => post(pathOf("jobCreate"), request),
    job: (job_id) => json({ method: "GET", path: pathOf("job", { job_id }) }),
    jobs: (query = {}) =>
      json({ method: "GET", path: `${pathOf("jobList")}${queryOf({ ...query })}` }),
    cancelJob: (job_id) => post(pathOf("jobCancel", { job_id })),
    retryJob: (job_id, request) => post(pathOf("jobRetry", { job_id }), request),
    runners: () => json({ method: "GET", path: pathOf("runnerList") }),
    drainRunner: async (runner_instance_id) => {
      await post(pathOf("runnerDrain", { runner_instance_id }));
    },
    usage: (after = 0) => json({ method: "GET", path: `${pathOf("usage")}${queryOf({ after })}` }),
  };
}
