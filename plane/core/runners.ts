// The runners as an operator sees them.
import type { RunnerState, RunnerView } from "@aim/contract";
import { formatTimestamp } from "../base/clock.ts";
import { RUNNER_SILENT_MS } from "../execution/dispatcher.ts";
import type { StoredRunner } from "../store/uses/runners.ts";
import type { CoreParts } from "./parts.ts";

const LISTED_MAX = 200;

/** Those heard of last first. */
export async function listRunners(
  parts: Pick<CoreParts, "clock" | "store">,
): Promise<RunnerView[]> {
  const now = parts.clock.now();
  const found = await parts.store.listRunners({ limit: LISTED_MAX });
  return found.map(({ held, ...runner }) => ({
    runner_instance_id: runner.register.runner_instance_id,
    name: runner.name,
    runner_kind: runner.register.runner_kind,
    state: stateOf(runner, now),
    job_types: [...runner.register.job_types],
    slots: runner.register.slots,
    held,
    ansible_core: runner.register.runtime.ansible_core,
    isolation: runner.register.runtime.isolation,
    registered_at: formatTimestamp(runner.registered),
    seen_at: formatTimestamp(runner.seen),
  }));
}

function stateOf({ register, seen, draining }: StoredRunner, now: number): RunnerState {
  if (now - seen >= RUNNER_SILENT_MS) return "silent";
  if (draining) return "draining";
  return register.runtime.sandbox_checks.failed === 0 ? "ready" : "refused";
}
