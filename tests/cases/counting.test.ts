import { expect, test } from "vitest";
import { eventsOf } from "../harness/plane.ts";
import { outcomesOf, storyOf, wordsFoundIn } from "../harness/story.ts";
import { LOCAL, useCasePlane } from "./case-plane.ts";

const cases = useCasePlane();

const inventoryOf = (...hosts: readonly string[]): string =>
  `[all]\n${hosts.map((host) => `${host} ${LOCAL}\n`).join("")}`;

test("hosts that dropped out of a rescued run_once do not look successful", async () => {
  const ran = await cases.runBoth({
    customer: "run-once-rescued",
    hosts: ["peer-1", "peer-2", "peer-3"],
    files: {
      "inventory.ini": inventoryOf("peer-1", "peer-2", "peer-3"),
      "site.yml": `- name: One speaks for all
  hosts: all
  gather_facts: false
  tasks:
    - name: Guarded
      run_once: true
      block:
        - name: Change the tables
          ansible.builtin.command: "false"
          changed_when: false
      rescue:
        - name: Change them back
          ansible.builtin.command: "true"
          changed_when: false
    - name: Start each again
      ansible.builtin.command: "true"
`,
    },
  });
  expect(ran.native.status).toBe(2);
  expect(ran.native.recap).toEqual(["peer-1 ok=2 changed=1 rescued=1"]);
  expect(ran.result).toMatchObject({ state: "failed", error: { code: "tool_failed" } });
  expect(outcomesOf(ran.result)).toEqual([
    "peer-1 unknown",
    "peer-2 not_reached",
    "peer-3 not_reached",
  ]);
});

test("a clean recap of a run that Ansible calls failed vouches for no host", async () => {
  const ran = await cases.runBoth({
    customer: "any-errors-fatal",
    hosts: ["peer-1", "peer-2", "peer-3"],
    files: {
      "inventory.ini": inventoryOf("peer-1", "peer-2", "peer-3"),
      "site.yml": `- name: Stop as one
  hosts: all
  gather_facts: false
  any_errors_fatal: true
  tasks:
    - name: Guarded
      block:
        - name: Fails on the second
          ansible.builtin.command: "{{ 'false' if inventory_hostname == 'peer-2' else 'true' }}"
          changed_when: false
      rescue:
        - name: Mend
          ansible.builtin.command: "true"
          changed_when: false
- name: Play after it
  hosts: all
  gather_facts: false
  tasks:
    - name: For whom
      ansible.builtin.command: "true"
`,
    },
  });
  expect(ran.native.status).toBe(2);
  expect(ran.native.recap).toEqual([
    "peer-1 ok=2",
    "peer-2 ok=2 changed=1 rescued=1",
    "peer-3 ok=2",
  ]);
  expect(ran.result).toMatchObject({ state: "failed", error: { code: "tool_failed" } });
  expect(outcomesOf(ran.result)).toEqual(["peer-1 unknown", "peer-2 unknown", "peer-3 unknown"]);
});

test("counts are Ansible's own whatever was ignored, skipped or failed by rule", async () => {
  const ran = await cases.runBoth({
    customer: "ignored-counts",
    hosts: ["quiet", "rough", "lost"],
    files: {
      "inventory.ini": `${inventoryOf("quiet", "rough")}lost ansible_host=127.0.0.1 ansible_port=9\n`,
      "site.yml": `- name: What does not stop
  hosts: all
  gather_facts: false
  tasks:
    - name: First word
      ansible.builtin.ping:
      ignore_unreachable: true
    - name: Some of them fail
      ansible.builtin.command: "{{ item }}"
      loop: ["true", "false", "true"]
      ignore_errors: true
      delegate_to: localhost
      vars: { ansible_connection: local, ansible_python_interpreter: "{{ ansible_playbook_python }}" }
    - name: Changed, failed and ignored
      ansible.builtin.command: "false"
      changed_when: true
      ignore_errors: true
      when: inventory_hostname != 'lost'
    - name: Each item skipped
      ansible.builtin.command: "true"
      loop: [1, 2]
      when: false
    - name: No items
      ansible.builtin.command: "true"
      loop: []
    - name: Failed by rule
      ansible.builtin.command: "true"
      failed_when: inventory_hostname == 'rough'
      delegate_to: localhost
      vars: { ansible_connection: local, ansible_python_interpreter: "{{ ansible_playbook_python }}" }
    - name: Last word
      ansible.builtin.ping:
`,
    },
  });
  expect(ran.native.status).toBe(4);
  expect(ran.native.recap).toEqual([
    "lost ok=3 changed=2 unreachable=1 skipped=3 ignored=2",
    "quiet ok=5 changed=3 skipped=2 ignored=2",
    "rough ok=3 changed=2 failures=1 skipped=2 ignored=2",
  ]);
  const item = "failed changed ignored task_failed command_failed";
  expect(storyOf(ran.events)).toEqual([
    "play What does not stop",
    "task First word | lost unreachable ignored connection_refused | quiet ok | rough ok",
    `task Some of them fail | lost ${item} | quiet ${item} | rough ${item}`,
    `task Changed, failed and ignored | lost skipped | quiet ${item} | rough ${item}`,
    "task Each item skipped | lost skipped | quiet skipped | rough skipped",
    "task No items | lost skipped | quiet skipped | rough skipped",
    "task Failed by rule | lost changed | quiet changed | rough failed changed task_failed",
    "task Last word | lost unreachable connection_refused | quiet ok",
  ]);
  expect(outcomesOf(ran.result)).toEqual(["quiet changed", "rough failed", "lost unreachable"]);
  expect(ran.result).toMatchObject({ state: "failed", error: { code: "hosts_failed" } });
  expect(wordsFoundIn([ran.events, ran.result], ["127.0.0.1", "port 9"])).toEqual([]);
});

test("hosts of a batch that was never tried are visible as not reached", async () => {
  const hosts = ["unit-1", "unit-2", "unit-3", "unit-4", "unit-5"];
  const ran = await cases.runBoth({
    customer: "serial-batches",
    hosts,
    files: {
      "inventory.ini": inventoryOf(...hosts),
      "site.yml": `- name: Roll through the units
  hosts: all
  gather_facts: false
  serial: [1, 2]
  max_fail_percentage: 101
  tasks:
    - name: Take out
      ansible.builtin.command: "true"
    - name: Replace
      ansible.builtin.command: "{{ 'false' if inventory_hostname in ['unit-2', 'unit-3'] else 'true' }}"
    - name: Leave early
      ansible.builtin.meta: end_host
      when: inventory_hostname == 'unit-1'
    - name: Put back
      ansible.builtin.command: "true"
`,
    },
  });
  expect(ran.native.status).toBe(2);
  expect(outcomesOf(ran.result)).toEqual([
    "unit-1 changed",
    "unit-2 failed",
    "unit-3 failed",
    "unit-4 not_reached",
    "unit-5 not_reached",
  ]);
  expect(eventsOf(ran.events, "play_started").map(({ label }) => label)).toEqual([
    "Roll through the units",
    "Roll through the units",
  ]);
  expect(ran.result).toMatchObject({ state: "failed", error: { code: "hosts_failed" } });
});

test("progress stays right when hosts run ahead, end early and bring tasks of their own", async () => {
  const ran = await cases.runBoth({
    customer: "free-and-ended",
    hosts: ["swift", "steady", "leaver"],
    files: {
      "inventory.ini": `swift ${LOCAL} wait=0\nsteady ${LOCAL} wait=1.2\nleaver ${LOCAL} wait=0\n`,
      "tasks/more.yml": `- name: More of it
  ansible.builtin.command: "sleep {{ wait }}"
  notify: Tell the gate
- name: Still more
  ansible.builtin.command: "true"
`,
      "site.yml": `- name: Each for itself
  hosts: all
  gather_facts: false
  strategy: free
  tasks:
    - name: Warm up
      ansible.builtin.command: "sleep {{ wait }}"
    - name: End quietly
      ansible.builtin.meta: end_host
      when: inventory_hostname == 'leaver'
    - name: Bring more
      ansible.builtin.include_tasks: tasks/more.yml
      when: inventory_hostname != 'leaver'
    - name: Common end
      ansible.builtin.command: "{{ 'false' if inventory_hostname == 'swift' else 'true' }}"
  handlers:
    - name: Tell the gate
      ansible.builtin.command: "true"
- name: In step again
  hosts: all
  gather_facts: false
  tasks:
    - name: Once
      ansible.builtin.command: "true"
      run_once: true
`,
    },
  });
  expect(ran.native.status).toBe(2);
  expect(ran.native.recap).toEqual([
    "leaver ok=1 changed=1",
    "steady ok=7 changed=6",
    "swift ok=4 changed=3 failures=1",
  ]);
  expect(ran.result).toMatchObject({ state: "failed", error: { code: "hosts_failed" } });
  expect(outcomesOf(ran.result)).toEqual(["swift failed", "steady changed", "leaver changed"]);
  const story = storyOf(ran.events);
  expect(story).toContain("task Warm up | leaver changed | steady changed | swift changed");
  expect(story).toContain("handler Tell the gate | steady changed");
  expect(story.at(-1)).toBe("task Once | steady changed");
});
