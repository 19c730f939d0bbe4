import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { analyse } from "./change-analysis.ts";
import { codeFindings, mayHoldTasks, reduceConfig } from "./content.ts";
import { BUILTIN_MODULES, KEYWORDS } from "./task-words.ts";

const SITE = "project/site.yml";

function judged(text: string, playbook = SITE) {
  return analyse([{ path: SITE, text }], playbook);
}

function codesOf(task: string): string[] {
  const text = `- hosts: all\n  tasks:\n${task.replaceAll(/^/gm, "    ")}\n`;
  return judged(text).findings.map(({ code }) => code);
}

function knowsOf(task: string): boolean | undefined {
  const text = `- hosts: all\n  tasks:\n${task.replaceAll(/^/gm, "    ")}\n`;
  return judged(text).knows.get(`${SITE}:3`);
}

test.for([
  ["- ansible.builtin.copy: { dest: /x, content: y }", true],
  ["- command: /bin/true", false],
  ["- ansible.builtin.shell: id -un", false],
  ["- command: /bin/true\n  changed_when: false", true],
  ["- command: { cmd: /bin/true, creates: /x }", true],
  ["- command: /bin/true creates=/x", true],
  ["- command: /bin/true\n  args: { removes: /x }", true],
  ["- raw: true", false],
  ["- script: x.sh", false],
  ["- community.general.thing: { a: 1 }", false],
  ["- action: command /bin/true", false],
  ["- local_action: { module: copy, dest: /x }", true],
  ["- service: { name: x, state: started }\n  async: 10\n  poll: 0", false],
  ["- name: Named\n  debug: { msg: x }", true],
  ["- block:\n    - debug:", true],
] as const)("%s can know its change: %s", ([task, knows]) => {
  expect(knowsOf(task)).toBe(knows);
});

test.for([
  ["- command: /bin/true", ["change_unverified"]],
  ["- copy: { dest: /x }\n  changed_when: false", ["change_hidden"]],
  ["- command: id\n  changed_when: false", []],
  ["- command: id\n  failed_when: false", ["change_unverified", "change_hidden"]],
  ["- copy: { dest: /x }\n  check_mode: false", ["check_mode_off"]],
  ["- copy: { dest: /x }\n  check_mode: no", ["check_mode_off"]],
  ["- copy: { dest: /x }\n  check_mode: yes", []],
  ["- add_host: { name: x }", ["dynamic_hosts"]],
  ["- file: { path: /x, state: absent }", ["destructive"]],
  ["- package: name=x state=absent", ["destructive"]],
  ["- service: { name: x, state: stopped }", ["destructive"]],
  ["- shell: rm -rf /srv/old\n  changed_when: true", ["destructive"]],
  ["- command: mkfs.ext4 /dev/sdb creates=/x", ["destructive"]],
  ["- reboot:", ["destructive"]],
  ["- copy: { dest: /x }\n  delegate_to: localhost", ["controller_execution"]],
  ["- debug: { msg: \"{{ lookup('pipe', 'id') }}\" }", ["controller_execution"]],
  ["- ns.col.thing: { a: 1 }", ["effect_unknown"]],
  ["- copy: { dest: /x }\n  debugger: always", ["debugger"]],
] as const)("%s is shown to a reviewer as %s", ([task, codes]) => {
  expect(codesOf(task)).toEqual(codes);
});

test("of a repeated key the last one counts, as in Ansible", () => {
  expect(codesOf("- copy: { dest: /x }\n  check_mode: true\n  check_mode: false")).toEqual([
    "check_mode_off",
  ]);
});

test("tasks in blocks, handlers, roles and included files are judged where they stand", () => {
  const files = [
    {
      path: SITE,
      text: "- hosts: all\n  tasks:\n    - block:\n        - command: a\n      rescue:\n        - command: b\n  handlers:\n    - command: c\n",
    },
    { path: "project/roles/web/tasks/main.yml", text: "- command: d\n" },
  ];
  const places = analyse(files, SITE).findings.map(({ at }) => at);
  expect(places).toEqual([
    `${SITE}:4`,
    `${SITE}:6`,
    `${SITE}:8`,
    "project/roles/web/tasks/main.yml:1",
  ]);
});

test("other playbooks beside the one that runs count only when it imports them", () => {
  const other = { path: "project/other.yml", text: "- hosts: all\n  tasks:\n    - reboot:\n" };
  const site = (text: string) => ({ path: SITE, text });
  const plain = site("- hosts: all\n  tasks: []\n");
  const importing = site("- import_playbook: other.yml\n");
  expect(analyse([plain, other], SITE).destructive).toEqual([]);
  expect(analyse([importing, other], SITE).destructive).toEqual(["project/other.yml:3"]);
  expect(analyse([importing, other], null).destructive).toEqual([]);
});

test("what is no YAML, no task or hostile YAML is left alone", () => {
  for (const text of [
    "{",
    "a: [",
    "- 1\n- two\n",
    "key: value\n",
    `${"- ".repeat(500)}x`,
    "&a [*a]",
  ]) {
    expect(judged(text).knows.size).toBe(0);
  }
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefgh"
    .split("")
    .map((name, index) => `${name}: &${name} [${`*${"abcdefg"[index] ?? "a"},`.repeat(9)}]`)
    .join("\n")}`;
  expect(judged(bomb).knows.size).toBe(0);
});

test("vaulted and unsafe values do not disturb the judgement", () => {
  expect(knowsOf("- copy:\n    content: !unsafe '{{ x }}'\n    dest: !vault |\n      x")).toBe(
    true,
  );
});

test("files that cannot hold tasks are not read", () => {
  expect(
    ["project/group_vars/all.yml", "project/roles/x/defaults/main.yml", "project/x.txt"].map(
      mayHoldTasks,
    ),
  ).toEqual([false, false, false]);
  expect(["project/site.yml", "project/roles/x/tasks/main.yaml"].map(mayHoldTasks)).toEqual([
    true,
    true,
  ]);
});

test("every file that Ansible would load as code is named, callbacks as not loaded", () => {
  const found = codeFindings([
    "project/site.yml",
    "project/library/thing.py",
    "project/roles/web/action_plugins/copy.py",
    "project/roles/web/callback_plugins/aim_events.py",
    "project/collections/ansible_collections/a/b/plugins/modules/m.py",
    "project/collections/ansible_collections/a/b/plugins/callback/c.py",
  ]);
  expect(found.map(({ code, at }) => [code, at])).toEqual([
    ["code_plugin", "project/library/thing.py"],
    ["code_plugin", "project/roles/web/action_plugins/copy.py"],
    ["code_plugin_ignored", "project/roles/web/callback_plugins/aim_events.py"],
    ["code_plugin", "project/collections/ansible_collections/a/b/plugins/modules/m.py"],
    ["code_plugin_ignored", "project/collections/ansible_collections/a/b/plugins/callback/c.py"],
  ]);
});

test("of an ansible.cfg only allowed, plain settings are taken over", () => {
  const { env, findings } = reduceConfig({
    path: "project/ansible.cfg",
    text: `[defaults]
forks = 20 ; twenty
library = /evil
timeout=3
stdout_callback = yaml
remote_user = {{ lookup('pipe', 'id') }}

[ssh_connection]
pipelining: False
ssh_args = -o ProxyCommand=evil
# comment = 1
`,
  });
  expect(env).toEqual({
    ANSIBLE_FORKS: "20",
    ANSIBLE_TIMEOUT: "3",
    ANSIBLE_PIPELINING: "False",
  });
  expect(findings.map(({ at }) => at)).toEqual([
    "project/ansible.cfg:3",
    "project/ansible.cfg:5",
    "project/ansible.cfg:6",
    "project/ansible.cfg:10",
  ]);
});

test("the lists of modules and keywords are those of the installed ansible-core", () => {
  const toolchain = fileURLToPath(new URL("../../.aim/toolchain.json", import.meta.url));
  const { venv } = JSON.parse(readFileSync(toolchain, "utf8")) as { venv: string };
  const script = `
import json, pkgutil, ansible.modules
from ansible.playbook.task import Task
from ansible.playbook.block import Block
from ansible.playbook.play import Play
from ansible.playbook.handler import Handler
modules = [m.name for m in pkgutil.iter_modules(ansible.modules.__path__) if not m.name.startswith("_")]
words = {k for c in (Task, Block, Play, Handler) for k in c.fattributes if not k.startswith("_")}
print(json.dumps([sorted(modules), sorted(words)]))
`;
  const answer = execFileSync(`${venv}/bin/python`, ["-c", script], { encoding: "utf8" });
  const [modules, words] = JSON.parse(answer) as [string[], string[]];
  expect([...BUILTIN_MODULES].toSorted()).toEqual(modules);
  expect(words.filter((word) => !KEYWORDS.has(word))).toEqual([]);
});
