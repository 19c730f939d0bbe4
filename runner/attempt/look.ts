// Carries one inspection out: a sandbox without any network, one question, one answer.
import { randomBytes } from "node:crypto";
import type { InspectionGrant } from "@aim/contract";
import { DRIVERS } from "@aim/drivers/drivers";
import { fillWorkspace } from "../bundle/workspace.ts";
import type { RunnerParts } from "../parts.ts";
import { startTool } from "./tool.ts";

export async function look(parts: RunnerParts, grant: InspectionGrant): Promise<void> {
  const inspection = await answerTo(parts, grant).catch((error: unknown) => {
    parts.log("inspection_failed", error);
    return { ok: false, code: "internal", at: null };
  });
  await parts.plane
    .inspected(grant.inspection_id, { runner_instance_id: parts.instanceId, inspection })
    .catch((error: unknown) => parts.log("inspection_unheard", error));
}

async function answerTo(parts: RunnerParts, grant: InspectionGrant): Promise<unknown> {
  const driver = DRIVERS.get(grant.job_type);
  if (driver === undefined) return { ok: false, code: "job_type_unknown", at: null };
  const sandbox = await parts.sandboxes.open(grant.inspection_id, null);
  try {
    sandbox.extendDeadline(grant.timeout_ms);
    const workspace = await fillWorkspace(
      { root: sandbox.workspace, uid: parts.sandboxes.config.uid, fetch: parts.plane.blob },
      grant.files,
    );
    return await driver.inspect({
      jobType: grant.job_type,
      inputs: grant.inputs,
      toolchain: parts.toolchain.inside,
      files: workspace.files,
      readFile: workspace.read,
      writeFile: workspace.write,
      nonce: () => randomBytes(16).toString("hex"),
      startTool: async (call) =>
        (await startTool(sandbox, call, { timeoutMs: grant.timeout_ms, graceMs: 0 })).run,
    });
  } finally {
    await sandbox.destroy();
  }
}
