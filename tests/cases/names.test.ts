import { expect, test } from "vitest";
import { eventsOf, runRequest } from "../harness/plane.ts";
import { recapLine } from "../harness/story.ts";
import { LOCAL, useCasePlane } from "./case-plane.ts";
import { runNative } from "./native.ts";

const cases = useCasePlane();
const VARS = {
  ansible_connection: "local",
  ansible_python_interpreter: "{{ ansible_playbook_python }}",
};

const LONG = `shelf${"-drawer".repeat(42)}-end`;
/** Reviewed names that may be published, and those that may not: too long, turned around, invisible. */
const PLAIN = [
  "caf\u00e9-c",
  "cafe\u0301-d",
  "\u0443\u0437\u0435\u043b-2",
  "2001:db8::1c",
  "name of three",
  "PLAY RECAP",
  "null",
];
const UNFIT = ["\u202eesrever-ni", "no\u200bwidth", LONG];
const UNREVIEWED = "\u{1f6f0}-relay";

const LABELS: readonly (readonly [name: string, label: string | null])[] = [
  ["K".repeat(200), "K".repeat(200)],
  ["K".repeat(201), null],
  ["\u{1f9ed}".repeat(200), "\u{1f9ed}".repeat(200)],
  [`${"\u{1f9ed}".repeat(200)}x`, null],
  ["\u00e8".repeat(200), "\u00e8".repeat(200)],
  ["\u5b57".repeat(200), "\u5b57".repeat(200)],
  ["e\u0300".repeat(100), "e\u0300".repeat(100)],
  [
    "\u{1f468}\u200d\u{1f469}\u200d\u{1f466}".repeat(40),
    "\u{1f468}\u200d\u{1f469}\u200d\u{1f466}".repeat(40),
  ],
  ["\u202ethe other way round", null],
  ["   room on both sides   ", "room on both sides"],
  ["tab\tinside", null],
  ["\u0085next line", null],
  ["line\u2028separator", null],
  ["\u200bunseen", null],
];

test("odd names are compared exactly, counted in code points and published only when they are plain", async () => {
  const hosts = [...PLAIN, ...UNFIT];
  const all = Object.fromEntries([...hosts, UNREVIEWED].map((host) => [host, {}]));
  const tasks = LABELS.map(([name]) => ({ name, "ansible.builtin.debug": { msg: "hi" } }));
  const site = [{ name: "Cuando acabe \u{1f3c1}", hosts: "odd", gather_facts: false, tasks }];
  const project = cases.write({
    customer: "odd-names",
    hosts,
    inventory: "hosts.json",
    files: {
      "hosts.json": JSON.stringify({ odd: { vars: VARS, hosts: all } }),
      // JSON is YAML; its escapes keep the control characters readable.
      "site.yml": asciiJson(site),
    },
  });
  const native = await runNative({ project, playbook: "site.yml", inventory: "hosts.json", hosts });
  const { events, result } = await runRequest(cases.plane().client, {
    customer: "odd-names",
    playbook: "case",
    hosts,
  });
  const count = LABELS.length;
  expect(native.recap).toEqual(hosts.map((host) => `${host} ok=${count}`).toSorted());
  const rows = eventsOf(events, "host_recap").map(({ host, host_redacted, counts }) =>
    recapLine(host_redacted ? "withheld" : `named ${host}`, counts),
  );
  const wanted = [...PLAIN.map((host) => `named ${host}`), ...UNFIT.map(() => "withheld")];
  expect(rows.toSorted()).toEqual(wanted.map((host) => `${host} ok=${count}`).toSorted());
  expect(result.state).toBe("succeeded");
  expect(result.targets.map(({ host, outcome }) => [host, outcome])).toEqual(
    hosts.map((host) => [host, "succeeded"]),
  );
  expect(eventsOf(events, "play_started")[0]?.label).toBe("Cuando acabe \u{1f3c1}");
  expect(
    eventsOf(events, "task_started").map(({ label, label_redacted }) => [label, label_redacted]),
  ).toEqual(LABELS.map(([, label]) => [label ?? "Withheld name", label === null]));
  const told = JSON.stringify(events);
  for (const name of [...UNFIT, UNREVIEWED]) expect(told).not.toContain(name);
});

/** With every character outside ASCII escaped, so that YAML takes those that it does not allow as they are. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

test("control characters and copied recaps forge neither progress nor recap", async () => {
  const forged = "gate-1\nPLAY RECAP *****\ngate-1 : ok=99 changed=0 unreachable=0 failed=0";
  const inventory = {
    gate: { vars: VARS, hosts: { "gate-1": {}, "gate-2": {}, [forged]: {}, "esc\u001bape": {} } },
  };
  const files = {
    "hosts.json": JSON.stringify(inventory),
    "site.yml": `- name: "Paint \\e[32mgreen\\e[0m and go"
  hosts: gate
  gather_facts: false
  tasks:
    - name: "Wipe \\e[2J\\e[H the screen"
      ansible.builtin.command: "true"
      changed_when: false
    - name: "One\\n\\nPLAY RECAP *********\\ngate-2 : ok=50   changed=0    unreachable=0    failed=0\\n"
      ansible.builtin.command: "true"
      changed_when: false
    - name: "Back\\rto the start"
      ansible.builtin.command: "true"
      changed_when: false
    - name: "Bell \\a, back \\b and nul \\0 inside"
      ansible.builtin.command: "true"
      changed_when: false
    - name: "Link \\e]8;;https://example.test/\\e\\\\text\\e]8;;\\e\\\\"
      ansible.builtin.command: "true"
      changed_when: false
    - name: >
        Folded text
        with a break at its end
      ansible.builtin.command: "true"
      changed_when: false
    - name: Output that copies a recap
      ansible.builtin.shell: "printf 'PLAY RECAP ****\\\\ngate-2 : ok=77 changed=0 unreachable=0 failed=0\\\\n'; exit 3"
      when: inventory_hostname == 'gate-2'
`,
  };
  const ran = await cases.runBoth({
    customer: "forged-recap",
    hosts: ["gate-1", "gate-2"],
    inventory: "hosts.json",
    files,
  });
  expect(ran.native.status).toBe(2);
  expect(ran.native.output.match(/^PLAY RECAP/gm)?.length).toBeGreaterThan(1);
  expect(ran.native.recap).toEqual(["gate-1 ok=6 skipped=1", "gate-2 ok=6 failures=1"]);
  expect(eventsOf(ran.events, "play_started").map(({ label }) => label)).toEqual(["Withheld name"]);
  expect(eventsOf(ran.events, "task_started").map(({ label }) => label)).toEqual([
    "Withheld name",
    "Withheld name",
    "Withheld name",
    "Withheld name",
    "Withheld name",
    "Folded text with a break at its end",
    "Output that copies a recap",
  ]);
  expect(ran.result).toMatchObject({ state: "failed", error: { code: "hosts_failed" } });
  expect(JSON.stringify([ran.events, ran.result])).not.toMatch(
    /\\u00[01][0-9a-f]|\\[nrtbf]|ok=99|ok=77/,
  );
});

test("a host that a run adds is no reviewed host: it gets no name and no entry of its own", async () => {
  const ran = await cases.runBoth({
    customer: "added-hosts",
    hosts: ["gate-1"],
    files: {
      "inventory.ini": `gate-1 ${LOCAL}\ngate-2 ${LOCAL}\n`,
      "site.yml": `- name: Bring another
  hosts: all
  gather_facts: false
  tasks:
    - name: Add one that nobody reviewed
      ansible.builtin.add_host: { name: gate-9, groups: brought, ansible_connection: local }
- name: Work on it
  hosts: brought
  gather_facts: false
  tasks:
    - name: Change it
      ansible.builtin.command: "true"
`,
    },
  });
  expect(ran.native.recap).toEqual(["gate-1 ok=1 changed=1"]);
  expect(eventsOf(ran.events, "play_skipped")).toHaveLength(1);
  expect(JSON.stringify([ran.events, ran.result])).not.toMatch(/gate-[29]/);
  expect(ran.prepared.review.findings.map(({ code }) => code)).toContain("dynamic_hosts");
});
