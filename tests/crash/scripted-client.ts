// A control plane in the test's own process: uploads bundles, submits jobs, stops some, and remembers what it was told.
import {
  pathOf,
  type AcceptedJob,
  type CallbackEventName,
  type JobSpec,
  type KeptBundle,
} from "@aim/contract";
import { sha256 } from "../../plane/store/blobs.ts";
import { until } from "../harness/plane.ts";
import type { Chance } from "../simulation/chance.ts";
import type { Door, Heard } from "./place.ts";
import type { Told } from "./told.ts";

export const ALL_EVENTS: readonly CallbackEventName[] = [
  "attempt.accepted",
  "attempt.started",
  "attempt.ended",
];

const JOBS_PER_BUNDLE = 8;
/** Jobs that may wait for a runner; more would only be more of the same. */
const WAITING_MAX = 6;
const PATIENCE_MS = 60_000;

export interface ScriptedClient {
  readonly door: Door;
  readonly told: Told;
  readonly chance: Chance;
  /** Begins every idempotency key of this client. */
  readonly name: string;
  readonly callback: string | null;
  /** No more jobs from then on. */
  readonly over: AbortSignal;
  readonly jobs?: number;
}

export async function runClient(parts: ScriptedClient): Promise<void> {
  const { told, over, chance } = parts;
  let bundle = "";
  for (let number = 0; !over.aborted && number < (parts.jobs ?? Infinity); number += 1) {
    await until(PATIENCE_MS, () => over.aborted || waiting(told) < WAITING_MAX);
    if (number % JOBS_PER_BUNDLE === 0) {
      bundle = await keepBundle(parts, { "inventory.ini": `one\n# ${parts.name} ${number}\n` });
    }
    const key = `${parts.name}-${number}`;
    const accepted = await submit(parts, specOf({ key, bundle, callback: parts.callback }));
    if (chance.happens(0.08)) await cancel(parts, accepted);
  }
}

function waiting(told: Told): number {
  const begun = new Set(told.grants.map(({ attemptId }) => attemptId));
  return told.jobs.size - begun.union(told.cancelled).size;
}

interface Wanted {
  readonly key: string;
  readonly bundle: string;
  readonly callback?: string | null;
  readonly timeoutS?: number;
  readonly graceS?: number;
}

export function specOf({
  key,
  bundle,
  callback = null,
  timeoutS = 300,
  graceS = 5,
}: Wanted): JobSpec {
  return {
    api_version: "1.0",
    job_type: "ansible.inventory.validate",
    idempotency_key: key,
    customer: "acme",
    operation_id: key,
    inputs: { inventory: ["project/inventory.ini"], hosts: ["one"] },
    source: { bundle_digest: bundle },
    secrets: {},
    destructive: false,
    timeout_s: timeoutS,
    grace_s: graceS,
    runner_requirements: {
      runner_kind: "process",
      network: [],
      memory_bytes: 2 ** 30,
      disk_bytes: 2 ** 30,
      pids: 1000,
    },
    diagnostics: "off",
    ...(callback === null ? {} : { callbacks: [{ url: callback, events: [...ALL_EVENTS] }] }),
  };
}

type Sender = Pick<ScriptedClient, "door" | "told">;

async function insist<T>({ told }: Sender, what: string, asked: Promise<Heard<T>>) {
  const answer = await asked;
  if (answer.ok) return answer;
  told.broken.push(`${what}: ${answer.text}`);
  throw new Error(`${what} was refused: ${answer.text}`);
}

/** Uploads the files of a project and makes a bundle of them; answers its digest. */
export async function keepBundle(
  sender: Sender,
  project: Readonly<Record<string, string>>,
): Promise<string> {
  const files = Object.entries(project).map(([path, text]) => {
    const size = Buffer.byteLength(text);
    return { text, path: `project/${path}`, sha256: sha256(text), size, executable: false };
  });
  for (const { sha256: digest, text } of files) {
    const contentType = "application/octet-stream";
    const path = pathOf("sourceUpload", { sha256: digest });
    const put = { method: "PUT", path, body: text, contentType };
    await insist(sender, path, sender.door.ask("client", put));
    sender.told.kept.set(digest, text);
  }
  const bundle = { customer: "acme", files: files.map(({ text: _, ...file }) => file) };
  const ask = { path: pathOf("bundleCreate"), body: JSON.stringify(bundle) };
  const kept = await insist(sender, "a bundle", sender.door.ask<KeptBundle>("client", ask));
  return kept.response.bundle_digest;
}

export async function submit(sender: Sender, spec: JobSpec): Promise<AcceptedJob> {
  const key = spec.idempotency_key;
  const ask = { path: pathOf("jobCreate"), body: JSON.stringify({ spec }) };
  const { response, text } = await insist(
    sender,
    `job ${key}`,
    sender.door.ask<AcceptedJob>("client", ask),
  );
  const before = sender.told.jobs.get(key);
  if (before !== undefined && before.text !== text) {
    sender.told.broken.push(`job ${key} was answered ${before.text} and then ${text}`);
  }
  sender.told.jobs.set(key, { jobId: response.job_id, runId: response.run_id, text });
  return response;
}

async function cancel(sender: Sender, { job_id, run_id }: AcceptedJob): Promise<void> {
  const path = pathOf("jobCancel", { job_id });
  await insist(sender, path, sender.door.ask("client", { method: "POST", path }));
  sender.told.cancelled.add(run_id);
}
