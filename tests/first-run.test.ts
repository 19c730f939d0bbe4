import { expect, test } from "vitest";
import { writeCustomer } from "./harness/catalog.ts";
import { eventsOf, runRequest, startPlane } from "./harness/plane.ts";

test("a reviewed playbook runs through every room and every host is accounted for", async () => {
  await using plane = await startPlane();
  writeCustomer(plane.catalogDir, {
    playbooks: { site: { playbook: "site.yml" } },
    files: {
      "inventory.ini": "one ansible_connection=local\ntwo ansible_connection=local\n",
      "site.yml": `- name: First play
  hosts: all
  gather_facts: false
  tasks:
    - name: Look around
      ansible.builtin.ping:
    - name: Touch
      ansible.builtin.command: /bin/true
      when: inventory_hostname == "two"
`,
    },
  });
  const { events, result } = await runRequest(plane.client, {
    customer: "acme",
    playbook: "site",
    hosts: ["one", "two"],
  });
  expect(result.state).toBe("succeeded");
  expect(result.targets.map(({ host, outcome }) => [host, outcome])).toEqual([
    ["one", "succeeded"],
    ["two", "changed"],
  ]);
  expect(eventsOf(events, "task_started").map(({ label }) => label)).toEqual([
    "Look around",
    "Touch",
  ]);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(result.kill_confirmed).toBe(true);
});
