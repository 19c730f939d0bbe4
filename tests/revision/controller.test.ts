// What was reviewed with one controller is not carried out by another.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { RuntimeFacts } from "@aim/contract";
import { newId } from "../../plane/base/ids.ts";
import { createPlaneClient } from "../../runner/plane-client.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { startPlane, until } from "../harness/plane.ts";
import { countRows } from "../harness/stored.ts";
import { call, operationLine, problemOf } from "../harness/wire.ts";

const RUNNER = fileURLToPath(new URL("../../runner/main.ts", import.meta.url));

test("after a review nothing runs on a controller of another version or with another callback", async () => {
  await using plane = await startPlane({ runner: false, arguments: ["--no-runner"] });
  writeCustomer(plane.catalogDir, {
    playbooks: { site: { playbook: "site.yml", timeout_s: 5 } },
    files: {
      "inventory.ini": "one ansible_connection=local\n",
      "site.yml": "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.ping:\n",
    },
  });
  const runner = spawn(process.execPath, [RUNNER, "--state", plane.stateDir], { stdio: "ignore" });
  const ended = once(runner, "exit");
  await until(30_000, async () => (await plane.client.capabilities()).runtime_ready);
  const prepared = await plane.client.prepare({
    customer: "acme",
    playbook: "site",
    hosts: ["one"],
  });
  const reviewed = (await plane.client.capabilities()).runtime;
  if (reviewed === null) throw new Error("no runner");
  const [reviewer] = await plane.client.runners();
  runner.kill("SIGTERM");
  await ended;
  await plane.client.drainRunner(reviewer?.runner_instance_id ?? "");

  const others: readonly Partial<RuntimeFacts>[] = [
    { ansible_core: "2.19.10" },
    { callback_digest: "0".repeat(64) },
  ];
  for (const other of others) {
    const id = await register(plane.stateDir, { ...reviewed, ...other });
    expect((await plane.client.capabilities()).runtime).toMatchObject(other);
    const { request, revision } = prepared;
    const body = operationLine({ operation: "execute", request, revision });
    const answer = await call({ socketPath: plane.socketPath, body });
    expect(problemOf(answer).code).toBe("stale_revision");
    await plane.client.drainRunner(id);
  }
  expect(countRows(plane.stateDir, "jobs")).toBe(0);
});

/** A runner that says what its controller is; answers its id. */
async function register(stateDir: string, runtime: RuntimeFacts): Promise<string> {
  const runner_instance_id = newId("rnr");
  await createPlaneClient({ socketPath: join(stateDir, "runner.sock") }).register(
    {
      runner_instance_id,
      runner_kind: "process",
      job_types: ["ansible.playbook.run", "ansible.check_mode.run"],
      slots: 1,
      runtime,
    },
    null,
  );
  return runner_instance_id;
}
