import { expect, test } from "vitest";
import { startRun } from "../harness/background.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { startPlane, until } from "../harness/plane.ts";
import { startRunner } from "../harness/runner-process.ts";

const SLOW = `- name: Take a while
  hosts: all
  gather_facts: false
  tasks:
    - name: Begin
      ansible.builtin.ping:
    - name: Wait for a while
      ansible.builtin.command: sleep 4
      changed_when: false
`;

test("a runner that is told to end finishes what it holds, takes nothing more and says what it waits for", async () => {
  await using plane = await startPlane({ arguments: ["--no-runner"], runner: false });
  const runner = startRunner(["--state", plane.stateDir]);
  try {
    await until(60_000, async () => (await plane.client.capabilities()).runtime_ready);
    const playbook = { playbook: "site.yml" };
    writeCustomer(plane.catalogDir, {
      playbooks: { held: playbook, waiting: playbook },
      files: { "inventory.ini": "one ansible_connection=local\n", "site.yml": SLOW },
    });
    const waiting = await plane.client.prepare({
      customer: "acme",
      playbook: "waiting",
      hosts: ["one"],
    });
    const run = await startRun(plane, { customer: "acme", playbook: "held", hosts: ["one"] });
    await run.saw(({ kind }) => kind === "host_result");
    runner.process.kill("SIGTERM");
    expect(runner.logText()).not.toContain("waits_for");
    await until(5_000, () => {
      runner.process.kill("SIGTERM");
      return runner.logText().includes(`"waits_for:${run.runId}"`);
    });
    const { request, revision } = waiting;
    const abort = new AbortController();
    const lines = plane.client.execute({ request, revision }, { signal: abort.signal });
    const reading = lines.next().catch(() => undefined);
    expect(await run.result).toMatchObject({
      state: "succeeded",
      effect: "complete",
      evidence: "complete",
      kill_confirmed: true,
    });
    expect(await runner.ended).toBe(0);
    const [newest] = await plane.client.runs();
    expect(newest).toMatchObject({ playbook: "waiting", state: "queued", started_at: null });
    abort.abort();
    await reading;
  } finally {
    runner.process.kill("SIGKILL");
  }
});
