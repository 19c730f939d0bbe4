// ansible.inventory.validate: reads an inventory strictly and says which reviewed hosts it names. Contacts nothing.
import { runError, summarize, type Outcome, type RunErrorCode, type Target } from "@aim/contract";
import type { AttemptContext } from "../kit/index.ts";
import { inspectAnsible } from "./inspect.ts";
import type { InventoryInputs } from "./schema.ts";

export async function validateInventory(context: AttemptContext): Promise<Outcome> {
  const inputs = context.spec.inputs as InventoryInputs;
  await context.move("running");
  const inspection = await inspectAnsible({ ...context, jobType: context.spec.job_type, inputs });
  await context.move("finalizing");
  const known = inspection.ok ? new Set(inspection.selected) : new Set<string>();
  const targets = inputs.hosts.map((host): Target => {
    return { host, outcome: known.has(host) ? "succeeded" : "not_reached", counts: null };
  });
  // An answer that is there was given before the stop came.
  const stop = inspection.ok ? null : context.stopReason();
  const error = stop ?? (inspection.ok ? null : errorOf(inspection.code));
  return {
    verdict: error === null ? "succeeded" : (stop ?? "failed"),
    effect: "none",
    remote_work: "none",
    failure_category: error === null ? null : "verification_failed",
    error: error === null ? null : runError(error),
    stats: null,
    targets,
    target_summary: summarize(targets),
    operation_result: null,
    change_evidence: [],
  };
}

function errorOf(code: string): RunErrorCode {
  return code === "inventory_unreadable" || code === "inventory_empty" ? code : "tool_failed";
}
