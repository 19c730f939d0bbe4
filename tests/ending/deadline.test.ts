// A run's deadline without its plane: the runner holds it by itself.
import { expect, test } from "vitest";
import { startRun } from "../harness/background.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { startPlane, until } from "../harness/plane.ts";
import { pidsWith } from "../harness/processes.ts";
import { stubborn } from "./stubborn.ts";

const TIMEOUT_S = 10;
const GRACE_S = 1;

test("a run ends at its deadline while the plane says nothing, long before its lease is over", async () => {
  await using plane = await startPlane({ arguments: ["--lease-ttl-s", "120"] });
  const made = stubborn();
  const site = { playbook: "site.yml", timeout_s: TIMEOUT_S, grace_s: GRACE_S };
  writeCustomer(plane.catalogDir, { playbooks: { site }, files: made.files });
  const run = await startRun(plane, { customer: "acme", playbook: "site", hosts: ["one"] });
  await until(30_000, () => pidsWith(made.mark).length >= made.processes);
  const { created_at: created } = await plane.client.status(run.runId);
  const left = Date.parse(created) + TIMEOUT_S * 1000 - Date.now();
  const silent = plane.process.pid ?? 0;
  process.kill(silent, "SIGSTOP");
  try {
    await until(left + (GRACE_S + 2) * 1000, () => pidsWith(made.mark).length === 0);
    expect(Date.now() - Date.parse(created)).toBeGreaterThanOrEqual(TIMEOUT_S * 1000);
  } finally {
    process.kill(silent, "SIGCONT");
  }
  expect(await run.result).toMatchObject({
    state: "timed_out",
    kill_confirmed: true,
    effect: "unknown",
  });
});
