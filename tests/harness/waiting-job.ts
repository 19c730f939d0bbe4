// A job that no runner takes: whoever follows it is followed by nothing but the plane.
import type { Client } from "@aim/sdk";
import type { JobSpec } from "@aim/contract";
import { SPEC } from "../store/samples.ts";

/** Of the customer acme. */
export async function makeWaitingJob(
  client: Client,
): Promise<{ readonly runId: string; readonly jobId: string }> {
  const bytes = new TextEncoder().encode("one ansible_connection=local\n");
  const sha256 = await client.uploadSource(bytes);
  const file = { path: "project/hosts.ini", sha256, size: bytes.length, executable: false };
  const { bundle_digest } = await client.createBundle({ customer: "acme", files: [file] });
  const spec: JobSpec = {
    ...SPEC,
    job_type: "ansible.inventory.validate",
    idempotency_key: "waits",
    inputs: { inventory: ["project/hosts.ini"], hosts: ["one"] },
    source: { bundle_digest },
    timeout_s: 600,
  };
  const { job_id: jobId, run_id: runId } = await client.createJob({ spec });
  return { jobId, runId };
}
