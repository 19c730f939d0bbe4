// `aimctl jobs list|show|watch|cancel`: durable requests with all their attempts.
import {
  RETRY_REASONS,
  type AttemptState,
  type AttemptView,
  type JobView,
  type RetryHint,
} from "@aim/contract";
import { type Client } from "@aim/sdk";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { tableLines } from "../render/table.ts";
import { wholeSeconds } from "../render/time.ts";
import type { Presentation } from "../run/present.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";
import { cancel, type CancelFlags } from "./cancel.ts";
import { watch } from "./watch.ts";

export interface JobListFlags extends OutputFlags {
  /** `--state` is the state folder. */
  readonly in?: AttemptState;
  readonly customer?: string;
  readonly before?: string;
  readonly limit: number;
}

export type JobCancelFlags = CancelFlags;
export type JobWatchFlags = GlobalFlags & Presentation;

export async function listJobs(flags: JobListFlags): Promise<ExitCode> {
  const { before, customer, limit, in: state } = flags;
  const found = await connect(flags).jobs({ before, customer, limit, state });
  print(flags, found, jobTable);
  return EXIT.ok;
}

export async function showJob(jobId: string, flags: OutputFlags): Promise<ExitCode> {
  print(flags, await connect(flags).job(jobId), jobLines);
  return EXIT.ok;
}

export async function watchJob(jobId: string, flags: JobWatchFlags): Promise<ExitCode> {
  return watch(await newestRun(connect(flags), jobId), { ...flags, after: 0 });
}

export async function cancelJob(jobId: string, flags: JobCancelFlags): Promise<ExitCode> {
  return cancel(await newestRun(connect(flags), jobId), flags);
}

async function newestRun(client: Client, jobId: string): Promise<string> {
  const { attempts } = await client.job(jobId);
  return attempts.at(-1)?.run_id ?? "";
}

function jobTable(jobs: readonly JobView[]): string[] {
  if (jobs.length === 0) return ["No job."];
  const rows = jobs.map((job) => [
    job.job_id,
    job.customer,
    job.job_type,
    job.attempts.at(-1)?.state ?? "",
    String(job.attempt_count),
    wholeSeconds(job.created_at),
    job.title,
  ]);
  return tableLines(["JOB", "CUSTOMER", "TYPE", "STATE", "ATTEMPTS", "CREATED", "TITLE"], rows);
}

function jobLines(job: JobView): string[] {
  const facts: (readonly [string, string | null])[] = [
    ["job", job.job_id],
    ["title", job.title],
    ["customer", job.customer],
    ["job type", job.job_type],
    ["created", job.created_at],
    ["key", job.idempotency_key],
    ["operation", job.operation_id],
    ["plan node", job.plan_node_id],
    ["node run", job.node_run_id],
  ];
  const rows = job.attempts.map((attempt) => [
    String(attempt.number),
    attempt.run_id,
    attempt.state,
    attempt.effect,
    attempt.evidence,
    attempt.failure_category ?? "",
    wholeSeconds(attempt.started_at ?? ""),
    wholeSeconds(attempt.ended_at ?? ""),
  ]);
  const headings = ["NO", "RUN", "STATE", "EFFECT", "EVIDENCE", "FAILURE", "STARTED", "ENDED"];
  return [
    ...facts
      .filter((fact): fact is readonly [string, string] => fact[1] !== null)
      .map(([name, value]) => `${name.padEnd(10)} ${visible(value)}`),
    "",
    ...tableLines(headings, rows),
    ...nextStep(job, job.attempts.at(-1)),
  ];
}

function nextStep(job: JobView, newest: AttemptView | undefined): string[] {
  if (newest === undefined) return [];
  if (newest.retry === null) return ["", `Watch it: aimctl jobs watch ${visible(job.job_id)}`];
  return ["", retryLine(job, newest.retry)];
}

function retryLine({ job_id }: JobView, { reason, retryable, safe_to_retry_at: at }: RetryHint) {
  const why = RETRY_REASONS[reason];
  if (retryable === "no") return why;
  const since = at === null ? "" : `, from ${visible(wholeSeconds(at))} on`;
  return `${why} Try again: aimctl jobs retry ${visible(job_id)}${since}`;
}
