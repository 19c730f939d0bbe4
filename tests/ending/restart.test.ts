import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { isTerminal, type RunEvent } from "@aim/contract";
import { writeCustomer } from "../harness/catalog.ts";
import { startPlane, until } from "../harness/plane.ts";

const SLOW = `- name: Outlive the plane
  hosts: all
  gather_facts: false
  tasks:
    - name: Begin
      ansible.builtin.ping:
    - name: Wait for a while
      ansible.builtin.command: sleep 5
      changed_when: false
    - name: End
      ansible.builtin.ping:
`;

test("a plane that is killed and comes back within the lease finds its run finished, nothing lost", async () => {
  const first = await startPlane();
  const home = dirname(first.stateDir);
  try {
    writeCustomer(first.catalogDir, {
      playbooks: { site: { playbook: "site.yml" } },
      files: { "inventory.ini": "one ansible_connection=local\n", "site.yml": SLOW },
    });
    const prepared = await first.client.prepare({
      customer: "acme",
      playbook: "site",
      hosts: ["one"],
      progress_mode: "detail",
    });
    const { request, revision } = prepared;
    const seen: RunEvent[] = [];
    for await (const line of first.client.execute({ request, revision })) {
      if (line.type === "event") seen.push(line.event);
      if (seen.filter(({ kind }) => kind === "host_result").length === 1) break;
    }
    const runId = seen[0]?.run_id ?? "";
    await first.stop("SIGKILL");
    await using plane = await startPlane({ home });
    await until(60_000, async () => isTerminal((await plane.client.status(runId)).state));
    const events: RunEvent[] = [];
    for await (const line of plane.client.follow(runId)) {
      if (line.type === "event") events.push(line.event);
    }
    expect(events.slice(0, seen.length)).toEqual(seen);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    const { result } = await plane.client.status(runId);
    expect(result).toMatchObject({ state: "succeeded", effect: "complete", kill_confirmed: true });
    expect(result?.journal.lost).toBe(0);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
