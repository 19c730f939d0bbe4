import { afterEach, expect, test } from "vitest";
import { eventsOf } from "../harness/plane.ts";
import { outcomesOf, recapOf, storyOf, wordsFoundIn } from "../harness/story.ts";
import { LOCAL, useCasePlane } from "./case-plane.ts";
import { peakOfRunner } from "./sandboxes.ts";

const cases = useCasePlane();
const MEMORY_MAX = 400 * 1024 * 1024;

afterEach(() => {
  const { pid } = cases.plane().process;
  if (pid === undefined) throw new Error("the plane has no process");
  expect(peakOfRunner(pid)).toBeLessThan(MEMORY_MAX);
});

test("a line of twelve megabytes, many items and bytes that are no text end in the right recap", async () => {
  const secret = "Sorrel-83-Sandpiper";
  const ran = await cases.runBoth({
    customer: "loud-output",
    hosts: ["log-a", "log-b"],
    files: {
      "inventory.ini": `log-a ${LOCAL}\nlog-b ${LOCAL}\n`,
      "site.yml": `- name: Loud work
  hosts: all
  gather_facts: false
  tasks:
    - name: One line of many megabytes
      ansible.builtin.shell: "head -c 12000000 /dev/zero | tr '\\\\0' 'x'; echo; echo ${secret}"
      changed_when: false
    - name: Many short lines
      ansible.builtin.shell: "seq 1 60000"
      changed_when: false
    - name: Six hundred items
      ansible.builtin.debug:
        msg: "{{ item }} ${secret}"
      loop: "{{ range(600) | list }}"
    - name: Bytes that are no text
      ansible.builtin.shell: "printf '\\\\377\\\\376\\\\200\\\\000fag-end'"
      changed_when: false
`,
    },
  });
  expect(ran.native.output).toContain(secret);
  expect(ran.native.recap).toEqual(["log-a ok=3 failures=1", "log-b ok=3 failures=1"]);
  expect(storyOf(ran.events).slice(0, 4)).toEqual([
    "play Loud work",
    "task One line of many megabytes | log-a ok | log-b ok",
    "task Many short lines | log-a ok | log-b ok",
    "task Six hundred items | log-a ok | log-b ok",
  ]);
  expect(ran.result).toMatchObject({ state: "failed", error: { code: "hosts_failed" } });
  expect(wordsFoundIn([ran.events, ran.result], [secret, "xxxx", "fag-end"])).toEqual([]);
  expect(eventsOf(ran.events, "host_result")).toHaveLength(8);
});

const LEVELS = {
  "inventory.ini": `log-a ${LOCAL}\n`,
  "site.yml": `- name: Includes itself
  hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_tasks: level.yml
`,
  "level.yml": `- name: Count the level
  ansible.builtin.set_fact: { level: "{{ level | default(0) | int + 1 }}" }
- name: One level down
  ansible.builtin.include_tasks: level.yml
  when: level | int < (deepest | default(1000000) | int)
`,
};
const settings = {
  variables: { type: "object", properties: { deepest: { type: "integer" } } },
};

test("tasks that include themselves twenty-five times are counted as Ansible counts them", async () => {
  const ran = await cases.runBoth({
    customer: "levels",
    hosts: ["log-a"],
    files: LEVELS,
    settings,
    variables: { deepest: 25 },
    nativeArguments: ["--extra-vars", "deepest=25"],
  });
  expect(ran.native.recap).toEqual(["log-a ok=50 skipped=1"]);
  expect(ran.result.state).toBe("succeeded");
});

test("tasks that include themselves without end are ended by the deadline and never a success", async () => {
  const endless = {
    customer: "endless",
    hosts: ["log-a"],
    files: LEVELS,
    settings: { ...settings, timeout_s: 8, grace_s: 1 },
  };
  cases.write(endless);
  const { events, result } = await cases.run(endless);
  expect(result).toMatchObject({
    state: "timed_out",
    error: { code: "timed_out" },
    failure_category: "timeout",
    effect: "unknown",
    kill_confirmed: true,
  });
  expect(outcomesOf(result)).toEqual(["log-a unknown"]);
  expect(recapOf(events)).toEqual([]);
  expect(eventsOf(events, "task_started").length).toBeGreaterThan(3);
});
