// A project that handles secrets in every place where Ansible lets one stand.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { CanaryCage } from "./canaries.ts";

export interface LeakyProject {
  readonly files: Readonly<Record<string, string>>;
  readonly credentials: Readonly<Record<string, string>>;
}

type Value =
  | string
  | number
  | boolean
  | null
  | readonly Value[]
  | { readonly [key: string]: Value };
type Task = Readonly<Record<string, Value>>;

const VAULT_SCRIPT = `
import json, sys
from ansible.parsing.vault import VaultLib, VaultSecret
asked = json.load(sys.stdin)
vault = VaultLib([("default", VaultSecret(asked["password"].encode()))])
print(json.dumps([vault.encrypt(text).decode() for text in asked["texts"]]))
`;

/** Encrypts each text with Ansible's own vault. */
function vaulted(password: string, texts: readonly string[]): string[] {
  const toolchain = new URL("../../.aim/toolchain.json", import.meta.url);
  const { venv } = JSON.parse(readFileSync(toolchain, "utf8")) as { venv: string };
  const input = JSON.stringify({ password, texts });
  const answer = execFileSync(`${venv}/bin/python`, ["-c", VAULT_SCRIPT], { input });
  return JSON.parse(answer.toString()) as string[];
}

const MODULE = `#!/usr/bin/python3
from ansible.module_utils.basic import AnsibleModule

def main():
    module = AnsibleModule(argument_spec={
        "how": {"type": "str"},
        "texts": {"type": "list", "elements": "str"},
        "secret": {"type": "str", "no_log": True},
    })
    texts = module.params["texts"]
    if module.params["how"] == "raise":
        raise RuntimeError(" ".join(texts))
    if module.params["how"] == "fail":
        module.fail_json(msg=" ".join(texts), details=texts, stderr=" ".join(texts))
    for text in texts:
        module.warn("beware of %s" % text)
        module.deprecate("no more %s" % text, version="9.9.9", collection_name="acme.tools")
    module.exit_json(changed=True, diff={"before": "", "after": " ".join(texts)}, texts=texts,
                     ansible_facts={"found_" + str(n): text for n, text in enumerate(texts)})

main()
`;

const debug = (msg: Value): Task => ({ "ansible.builtin.debug": { msg } });
const named = (name: string, task: Task, more: Task = {}): Task => ({ name, ...task, ...more });
const ignored: Task = { ignore_errors: true };

/** A dozen items of three secrets each: every item of a loop costs. */
function threes(cage: CanaryCage): Value[] {
  return Array.from({ length: 12 }, () => ({ words: cage.some(2), key: cage.one() }));
}

/** Names that hold a secret: written by a template, in the shape of a credential, or hidden. */
function nameTasks(cage: CanaryCage): Task[] {
  const skipped: Task = { ...debug("never"), when: false };
  const shapes: readonly ((canary: string) => string)[] = [
    (canary) => `Log in with password=${canary}`,
    (canary) => `Use token: ${canary}`,
    (canary) => `Fetch https://user:${canary}@example.org/`,
    (canary) => `Ask https://example.org/?key=${canary}`,
    (canary) => `Mail ${canary}@example.org`,
    (canary) => `Send Authorization: Bearer ${canary}`,
    (canary) => `Set db_secret = "${canary}"`,
    (canary) => `Run with API_KEY=${canary}`,
  ];
  return [
    named("Deploy {{ names | join(' ') }}", debug("done")),
    named(`Deploy {{ '${cage.plainOnes(8).join(" ")}' }}`, skipped),
    ...shapes.map((shape) => named(cage.plainOnes(5).map(shape).join(", "), skipped)),
    ...shapes.map((shape) => named(shape(cage.plain()), skipped)),
    named(cage.plainOnes(12).join(" "), debug(cage.some(10)), { no_log: true }),
    named(cage.plainOnes(5).join(" "), debug("x"), { no_log: "{{ true }}" }),
    { block: [named(cage.plain(), debug(cage.one()))], no_log: true },
  ];
}

function valueTasks(cage: CanaryCage): Task[] {
  const echo = (texts: readonly string[]): Task => ({
    "ansible.builtin.command": { argv: ["/bin/echo", ...texts] },
  });
  const complain = 'printf "%s" "$@" >&2';
  return [
    named("Arguments and output", echo(cage.some(50)), { register: "said" }),
    named("Hidden arguments", echo(cage.some(20)), { no_log: true }),
    named("Complaints", {
      "ansible.builtin.command": { argv: ["/bin/sh", "-c", complain, "-", ...cage.some(40)] },
    }),
    named(
      "Environment",
      { "ansible.builtin.command": "/usr/bin/env" },
      {
        environment: Object.fromEntries(cage.some(40).map((text, n) => [`WORD_${n}`, text])),
      },
    ),
    named("Variables of a task", debug("{{ own }}"), { vars: { own: cage.some(40) } }),
    named("Variables of the play", debug("{{ names + inventory_words + db_passwords }}")),
    named("Variables of a file", debug("{{ of_a_file }}")),
    named("Vaulted variables", debug("{{ query('ansible.builtin.varnames', '^vaulted_') }}")),
    named("Vaulted values", debug("{{ query('ansible.builtin.vars', *vault_names) }}")),
    named("Facts that are set", {
      "ansible.builtin.set_fact": { set_words: cage.some(40), cacheable: true },
    }),
    named("Facts of the machine", {
      "ansible.builtin.setup": {
        gather_subset: ["!all", "local"],
        fact_path: "/work/project/facts",
      },
    }),
    named("Statistics", { "ansible.builtin.set_stats": { data: { words: cage.some(20) } } }),
    named("Items", debug("{{ item }}"), { loop: threes(cage) }),
    named("Labels of items", debug("x"), {
      loop: threes(cage),
      loop_control: { label: "{{ item }}" },
    }),
    named("Tries", echo(cage.some(20)), {
      register: "tried",
      until: "tried.attempts | default(0) >= 2",
      retries: 2,
      delay: 0,
    }),
    named("In the background", echo(cage.some(20)), { async: 20, poll: 1 }),
    named(
      "A file and its difference",
      {
        "ansible.builtin.copy": {
          content: cage.some(40).join("\n"),
          dest: "/tmp/page",
          mode: "0600",
        },
      },
      { diff: true },
    ),
    named(
      "The file again",
      {
        "ansible.builtin.copy": {
          content: cage.some(40).join("\n"),
          dest: "/tmp/page",
          mode: "0600",
        },
      },
      { diff: true },
    ),
  ];
}

function faultTasks(cage: CanaryCage): Task[] {
  return [
    named("A failure", { "ansible.builtin.fail": { msg: cage.some(40).join(" ") } }, ignored),
    named(
      "A broken promise",
      {
        "ansible.builtin.assert": { that: ["false"], fail_msg: cage.some(20).join(" ") },
      },
      ignored,
    ),
    named("A module that fails", { leaky: { how: "fail", texts: cage.some(40) } }, ignored),
    named("A module that raises", { leaky: { how: "raise", texts: cage.some(40) } }, ignored),
    named("A module that warns", { leaky: { texts: cage.some(40), secret: cage.one() } }),
    named(
      "A program that is not there",
      {
        "ansible.builtin.command": { argv: [`/nowhere/${cage.plain()}`, ...cage.some(10)] },
      },
      ignored,
    ),
    named("A variable that is not there", debug(`{{ missing_${cage.plain()} }}`), ignored),
    named("A template that fails", debug(`{{ '${cage.plain()}' | int / 0 }}`), ignored),
    named(
      "A host that is not there",
      { "ansible.builtin.ping": {} },
      {
        delegate_to: `${cage.plain()}.example.org`,
        vars: { ansible_connection: "ssh", ansible_host: "192.0.2.1", ansible_timeout: 1 },
        ignore_unreachable: true,
      },
    ),
  ];
}

function hostTasks(cage: CanaryCage): Task[] {
  return [
    named(
      "More hosts",
      {
        "ansible.builtin.add_host": {
          name: "{{ item }}",
          groups: ["joined", `g${cage.plain()}`],
          ansible_connection: "local",
          note: cage.one(),
        },
      },
      { loop: cage.plainOnes(6) },
    ),
    named("A group by a value", { "ansible.builtin.group_by": { key: `k_${cage.plain()}` } }),
    named("Tell the handlers", { "ansible.builtin.command": "/bin/true" }, { notify: "told" }),
  ];
}

const ENDING: readonly Task[] = [
  {
    name: "Fail in the end",
    "ansible.builtin.fail": { msg: "{{ names | join(' ') }}" },
    when: "ending == 'failure'",
  },
  {
    name: "Wait in the end",
    "ansible.builtin.command": { argv: ["/bin/sleep", "600"] },
    environment: { WORDS: "{{ names | join(' ') }}" },
    when: "ending == 'waiting'",
  },
];

/** About a thousand secrets, each in the cage; the credentials are among them. */
export function leakyProject(cage: CanaryCage): LeakyProject {
  const credentials = {
    ssh_password: cage.one(),
    become_password: cage.one(),
    vault_password: cage.one(),
  };
  const hidden = cage.some(40);
  const vault = vaulted(credentials.vault_password, hidden)
    .map((text, n) => `vaulted_${n}: !vault |\n${text.trim().replaceAll(/^/gm, "  ")}\n`)
    .join("");
  const play = {
    name: "Every place",
    hosts: "one",
    gather_facts: false,
    vars: {
      names: cage.plainOnes(80),
      vault_names: hidden.map((_, n) => `vaulted_${n}`),
    },
    vars_files: ["more.yml", "vault.yml"],
    environment: { WHOLE_PLAY: cage.one() },
    tasks: [
      ...nameTasks(cage),
      named(`Rotate ${credentials.ssh_password}`, debug("x")),
      ...valueTasks(cage),
      ...faultTasks(cage),
      ...hostTasks(cage),
    ],
    handlers: [{ name: "Told {{ names[0] }}", listen: "told", ...debug(cage.one()) }],
  };
  const plays = [
    ...cage.plainOnes(2).map((canary) => ({ name: `Open ${canary}@example.org`, hosts: "one" })),
    ...cage.plainOnes(2).map((canary) => ({ name: canary, hosts: "one", no_log: true })),
    { name: "Visit {{ groups.joined | join(' ') }}", hosts: "joined", tasks: [debug(cage.one())] },
    { name: "The end", hosts: "one", vars: { names: cage.plainOnes(20) }, tasks: ENDING },
  ].map((one) => ({ gather_facts: false, ...one }));
  const inventoryWords = cage.some(40);
  return {
    credentials,
    files: {
      "site.yml": JSON.stringify([play, ...plays]),
      "more.yml": JSON.stringify({ of_a_file: cage.some(40) }),
      "vault.yml": vault,
      "inventory.yml": JSON.stringify({
        all: {
          hosts: {
            one: {
              ansible_connection: "local",
              inventory_words: inventoryWords,
              ...Object.fromEntries(cage.plainOnes(20).map((name) => [`note_${name}`, 1])),
            },
          },
          vars: { db_passwords: cage.some(20), db_password: cage.one() },
        },
      }),
      "group_vars/all.yml": JSON.stringify({ group_words: cage.some(20), api_token: cage.one() }),
      "host_vars/one.yml": JSON.stringify({ host_words: cage.some(20) }),
      "facts/words.fact": JSON.stringify({ words: cage.some(30) }),
      "library/leaky.py": MODULE,
    },
  };
}
