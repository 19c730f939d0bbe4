import { afterAll, beforeAll, expect, test } from "vitest";
import { writeCustomer } from "../harness/catalog.ts";
import { eventsOf, runRequest, startPlane, type TestPlane } from "../harness/plane.ts";

const LOCAL = "one ansible_connection=local\ntwo ansible_connection=local\n";

let plane: TestPlane;

beforeAll(async () => {
  plane = await startPlane();
  writeCustomer(plane.catalogDir, {
    playbooks: {
      site: {
        playbook: "site.yml",
        variables: { type: "object", properties: { greeting: { type: "string" } } },
        operation_result: {
          key: "report",
          schema: {
            type: "object",
            required: ["greeting"],
            properties: { greeting: { type: "string" } },
          },
        },
      },
      silent: {
        playbook: "site.yml",
        tags: ["never-there"],
        operation_result: { key: "report", schema: {} },
      },
      role: { role: "greeter", gather_facts: false },
      inventory: { inventory_only: true },
      cleanup: { playbook: "cleanup.yml" },
    },
    files: {
      "inventory.ini": LOCAL,
      "site.yml": `- name: Greet
  hosts: all
  gather_facts: false
  vars:
    greeting: nobody said it
    inner: templated
  tasks:
    - name: Say it
      ansible.builtin.debug:
        msg: "{{ greeting }}"
    - name: Write nothing
      ansible.builtin.file:
        path: /tmp/greeting
        state: directory
    - name: Claim a change
      ansible.builtin.command: /bin/true
    - name: Report
      ansible.builtin.set_stats:
        data:
          report:
            greeting: "{{ greeting }}"
          other: never shown
      run_once: true
`,
      "cleanup.yml": `- name: Clean up
  hosts: all
  gather_facts: false
  tasks:
    - name: Remove the folder
      ansible.builtin.file:
        path: /tmp/greeting
        state: absent
`,
      "roles/greeter/meta/argument_specs.yml": `argument_specs:
  main:
    short_description: Greets
    options: {}
`,
      "roles/greeter/tasks/main.yml": `- name: Greet from a role
  ansible.builtin.debug:
    msg: hello
- name: Notify
  ansible.builtin.command: /bin/true
  changed_when: true
  notify: Say goodbye
`,
      "roles/greeter/handlers/main.yml": `- name: Say goodbye
  ansible.builtin.debug:
    msg: bye
`,
    },
  });
});
afterAll(() => plane[Symbol.asyncDispose]());

const ask = (playbook: string, fields: object = {}) =>
  runRequest(plane.client, { customer: "acme", playbook, hosts: ["one", "two"], ...fields });

test("a playbook run returns its declared result and says how far its changes can be believed", async () => {
  const { result, prepared } = await ask("site", { variables: { greeting: "hello" } });
  expect(prepared.review.job_type).toBe("ansible.playbook.run");
  expect(result.state).toBe("succeeded");
  expect(result.operation_result).toEqual({ greeting: "hello" });
  expect(JSON.stringify(result)).not.toContain("never shown");
  // The first run makes the folder on the one machine that both hosts are.
  const [one, two] = result.change_evidence;
  expect([one?.unverified, two?.unverified]).toEqual([1, 1]);
  expect((one?.trusted ?? 0) + (two?.trusted ?? 0)).toBeLessThanOrEqual(2);
});

test("a template in a variable's value is data and is never evaluated", async () => {
  const { result } = await ask("site", { variables: { greeting: "{{ inner }}" } });
  expect(result.operation_result).toEqual({ greeting: "{{ inner }}" });
});

test("a run whose declared result is missing did not do its job", async () => {
  const { result } = await ask("silent");
  expect(result.state).toBe("failed");
  expect(result.error?.code).toBe("nothing_ran");
});

test("check mode predicts: commands are skipped and it is a job type of its own", async () => {
  const { result, prepared, events } = await ask("site", { check: true });
  expect(prepared.review.job_type).toBe("ansible.check_mode.run");
  expect(prepared.review.command).toContain("--check");
  const statuses = eventsOf(events, "host_result").map(({ status }) => status);
  expect(statuses).toContain("skipped");
  expect(result.change_evidence.every(({ unverified }) => unverified === 0)).toBe(true);
});

test("a role runs with its argument check and its handlers", async () => {
  const { result, events, prepared } = await ask("role");
  expect(prepared.review.job_type).toBe("ansible.role.run");
  expect(result.state).toBe("succeeded");
  const labels = eventsOf(events, "task_started").map(({ label, handler }) => [label, handler]);
  expect(labels).toContainEqual(["Greet from a role", false]);
  expect(labels).toContainEqual(["Say goodbye", true]);
});

test("an inventory is validated without a single task", async () => {
  const { result, events, prepared } = await ask("inventory");
  expect(prepared.review.job_type).toBe("ansible.inventory.validate");
  expect(result).toMatchObject({ state: "succeeded", effect: "none", remote_work: "none" });
  expect(result.targets.map(({ outcome }) => outcome)).toEqual(["succeeded", "succeeded"]);
  expect(eventsOf(events, "task_started")).toEqual([]);
});

test("summary mode tells stages, counters and the end, and not one name", async () => {
  const { events, result } = await ask("site", { progress_mode: "summary" });
  const kinds = new Set(events.map(({ kind }) => kind));
  expect(kinds).toEqual(new Set(["stage", "progress", "stats", "result"]));
  expect(JSON.stringify(events)).not.toMatch(/one|two|Greet/);
  expect(result.targets).toHaveLength(2);
});

test("destructive content is named, marked by itself, and cannot be denied", async () => {
  const request = { customer: "acme", playbook: "cleanup", hosts: ["one"] };
  const { review, request: normalized } = await plane.client.prepare(request);
  expect(normalized.destructive).toBe(true);
  expect(review.destructive_because).toEqual(["project/cleanup.yml:5"]);
  await expect(plane.client.prepare({ ...request, destructive: false })).rejects.toMatchObject({
    code: "destructive_not_marked",
  });
});

test("the same content prepared again after its use is a new revision, and the review says what changed", async () => {
  const request = { customer: "acme", playbook: "role", hosts: ["one"] };
  const first = await runRequest(plane.client, request);
  const again = await plane.client.prepare({ ...request, hosts: ["one", "two"] });
  expect(again.revision).not.toBe(first.prepared.revision);
  expect(again.review.changes).toMatchObject({
    hosts_added: ["two"],
    hosts_removed: [],
    files_changed: [],
  });
  const second = await runRequest(plane.client, request);
  expect(second.result.state).toBe("succeeded");
});

test("every number of a run's events is there and times never go back", async () => {
  const { events, result } = await ask("role");
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  const times = events.map(({ timestamp }) => timestamp);
  expect(times).toEqual(times.toSorted());
  expect(result.journal).toEqual({
    stored: events.length,
    lost: 0,
    first_sequence: 1,
    last_sequence: events.length,
  });
});
