import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder, type Ran } from "../harness/plane.ts";
import { storyOf, wordsFoundIn } from "../harness/story.ts";
import { LOCAL, useCasePlane } from "./case-plane.ts";
import { encryptedVariable } from "./vault.ts";

const cases = useCasePlane();

/** Everything that a client is told about a run, the review and the events from the store included. */
async function published({ events, result, prepared }: Ran): Promise<unknown[]> {
  const status = await cases.plane().client.status(result.run_id);
  return [events, result, prepared, status];
}

async function expectHidden(ran: Ran, secrets: readonly string[]): Promise<void> {
  expect(wordsFoundIn(await published(ran), secrets)).toEqual([]);
}

test("a hidden value stays hidden when the expression around it is broken", async () => {
  const secrets = ["Bramble-52-Curlew", "Swede-18-Plover"];
  const ran = await cases.runBoth({
    customer: "broken-expression",
    hosts: ["mq-1"],
    files: {
      "inventory.ini": `[brokers]\nmq-1 ${LOCAL}\n`,
      "group_vars/brokers.yml": `mq_word: "${secrets[0]}"\n`,
      "site.yml": `- name: Change the broker's word
  hosts: brokers
  gather_facts: false
  tasks:
    - name: Condition that is no condition
      ansible.builtin.set_fact:
        picked: "{{ mq_word }}"
      no_log: true
      when: mq_word
      ignore_errors: true
    - name: Filter that quotes what it was given
      ansible.builtin.set_fact:
        day: "{{ mq_word | to_datetime }}"
      no_log: true
      ignore_errors: true
    - name: Value beside the line that fails
      ansible.builtin.set_fact:
        other: "${secrets[1]}"
        copied: "{{ nowhere_defined }}"
      no_log: true
      ignore_errors: true
    - name: Step with nothing to hide
      ansible.builtin.command: "true"
      changed_when: false
`,
    },
  });
  expect(ran.native.output).toContain(secrets[0]);
  expect(ran.result.state).toBe("succeeded");
  expect(storyOf(ran.events)).toEqual([
    "play Change the broker's word",
    "task ~Withheld name~ | mq-1 failed ignored details_withheld",
    "task ~Withheld name~ | mq-1 failed ignored details_withheld",
    "task ~Withheld name~ | mq-1 failed ignored details_withheld",
    "task Step with nothing to hide | mq-1 ok",
  ]);
  await expectHidden(ran, secrets);
});

test("loop items, loop labels and templates publish nothing although nobody said no_log", async () => {
  const secrets = ["Medlar/27+Godwit=", "Radish%2094", "Medlar"];
  const folder = makeFolder("relay");
  const ran = await cases.runBoth({
    customer: "loop-items",
    hosts: ["smtp-1"],
    settings: { variables: { type: "object", properties: { target: { type: "string" } } } },
    variables: { target: "/tmp" },
    nativeArguments: ["--diff", "--extra-vars", `target=${folder}`],
    files: {
      "inventory.ini": `smtp-1 ${LOCAL}\n`,
      "templates/smtp.conf.j2": "user = out\nword = {{ smtp_word }}\n",
      "site.yml": `- name: Set up the outgoing relays
  hosts: all
  gather_facts: false
  vars:
    smtp_word: "${secrets[0]}"
    relays:
      - { title: first, word: "${secrets[0]}", good: true }
      - { title: second, word: "${secrets[1]}", good: false }
      - { title: third, word: "${secrets[1]}", good: true }
  tasks:
    - name: Try each of them
      ansible.builtin.command: "{{ 'true' if item.good else 'false' }}"
      loop: "{{ relays }}"
      loop_control:
        label: "{{ item.title }} {{ item.word[:6] }}"
      changed_when: item.good
      ignore_errors: true
    - name: Write it down
      ansible.builtin.template:
        src: smtp.conf.j2
        dest: "{{ target }}/smtp.conf"
        mode: "0600"
    - name: Write it down unseen
      ansible.builtin.template:
        src: smtp.conf.j2
        dest: "{{ target }}/smtp-unseen.conf"
        mode: "0600"
      no_log: true
`,
    },
  });
  rmSync(folder, { recursive: true, force: true });
  for (const secret of secrets) expect(ran.native.output).toContain(secret);
  expect(ran.result.state).toBe("succeeded");
  expect(storyOf(ran.events)).toEqual([
    "play Set up the outgoing relays",
    "task Try each of them | smtp-1 failed changed ignored task_failed command_failed",
    "task Write it down | smtp-1 changed",
    "task ~Withheld name~ | smtp-1 changed",
  ]);
  await expectHidden(ran, secrets);
});

const HUSH = `from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        told = super().run(tmp, task_vars)
        told.update(changed=True, msg='Quince-73-Avocet', _ansible_no_log=True)
        return told
`;
const LATE = ["Quince-73-Avocet"];
const SHOPS = { "inventory.ini": `shop-1 ${LOCAL}\nshop-2 ${LOCAL}\n` };

async function lateCase(customer: string, play: string): Promise<string[]> {
  const ran = await cases.runBoth({
    customer,
    hosts: ["shop-1", "shop-2"],
    files: { ...SHOPS, "action_plugins/quiet.py": HUSH, "site.yml": play },
  });
  expect(ran.result.state).toBe("succeeded");
  expect(ran.prepared.review.findings).toContainEqual(
    expect.objectContaining({ code: "code_plugin", at: "project/action_plugins/quiet.py" }),
  );
  await expectHidden(ran, LATE);
  return storyOf(ran.events);
}

test("a result that hides itself is told without details", async () => {
  const play = `- name: The result decides
  hosts: all
  gather_facts: false
  tasks:
    - name: Looks like any step
      quiet:
    - name: Looks like any loop
      quiet:
      loop: [1, 2]
    - name: Is any step
      ansible.builtin.ping:
`;
  expect(await lateCase("hidden-by-result", play)).toEqual([
    "play The result decides",
    "task Looks like any step | shop-1 changed | shop-2 changed",
    "task Looks like any loop | shop-1 changed | shop-2 changed",
    "task Is any step | shop-1 ok | shop-2 ok",
  ]);
});

test("an expression hides from the start, on every host and whatever it comes to", async () => {
  const play = `- name: An expression decides
  hosts: all
  gather_facts: false
  tasks:
    - name: For one host
      ansible.builtin.debug:
        msg: "${LATE[0]}"
      no_log: "{{ inventory_hostname == 'shop-2' }}"
    - name: For one item
      ansible.builtin.debug:
        msg: "{{ item }}"
      loop: [open, "${LATE[0]}"]
      no_log: "{{ item is search('Quince') }}"
    - name: By a name that is not set
      ansible.builtin.debug:
        msg: "${LATE[0]}"
      no_log: "{{ not (show_all | bool) }}"
      ignore_errors: true
    - name: By a name that is not set, in a loop
      ansible.builtin.debug:
        msg: "{{ item }}"
      loop: [open, "${LATE[0]}"]
      no_log: "{{ not (show_all | bool) }}"
      ignore_errors: true
`;
  const failed = "failed ignored details_withheld";
  expect(await lateCase("hidden-by-expression", play)).toEqual([
    "play An expression decides",
    "task ~Withheld name~ | shop-1 ok | shop-2 ok",
    "task ~Withheld name~ | shop-1 ok | shop-2 ok",
    `task ~Withheld name~ | shop-1 ${failed} | shop-2 ${failed}`,
    `task ~Withheld name~ | shop-1 ${failed} | shop-2 ${failed}`,
  ]);
});

test("of two answers for one key the last one counts, as for Ansible", async () => {
  const play = `- name: Two answers
  hosts: all
  gather_facts: false
  tasks:
    - name: Hidden and then shown
      no_log: true
      ansible.builtin.debug:
        msg: "${LATE[0]}"
      no_log: false
    - name: Shown and then hidden
      no_log: false
      ansible.builtin.debug:
        msg: "${LATE[0]}"
      no_log: true
    - name: Name that is overruled
      name: Name that rules
      ansible.builtin.ping:
`;
  expect(await lateCase("hidden-twice", play)).toEqual([
    "play Two answers",
    "task Hidden and then shown | shop-1 ok | shop-2 ok",
    "task ~Withheld name~ | shop-1 ok | shop-2 ok",
    "task Name that rules | shop-1 ok | shop-2 ok",
  ]);
});

test("what a play hides a task or block may open, and close again", async () => {
  const play = `- name: All of it is hidden
  hosts: all
  gather_facts: false
  no_log: true
  tasks:
    - name: As the play says
      ansible.builtin.debug: { msg: "${LATE[0]}" }
    - name: As it says itself
      ansible.builtin.debug: { msg: shown on purpose }
      no_log: false
    - name: Opened
      no_log: false
      block:
        - name: In the open
          ansible.builtin.debug: { msg: shown on purpose }
        - name: Closed once more
          ansible.builtin.debug: { msg: "${LATE[0]}" }
          no_log: true
`;
  expect(await lateCase("hidden-by-levels", play)).toEqual([
    "play ~Withheld name~",
    "task ~Withheld name~ | shop-1 ok | shop-2 ok",
    "task As it says itself | shop-1 ok | shop-2 ok",
    "task In the open | shop-1 ok | shop-2 ok",
    "task ~Withheld name~ | shop-1 ok | shop-2 ok",
  ]);
});

test("a secret in a name is never published, rendered or literal", async () => {
  const secret = "Damson-35-Whimbrel";
  const step = (name: string, more = "") =>
    `- name: ${name}\n  ansible.builtin.command: "true"\n${more}`;
  const ran = await cases.runBoth({
    customer: "secret-names",
    hosts: ["web-9"],
    settings: { credentials: ["vault_password"] },
    credentials: { vault_password: secret },
    files: {
      "inventory.ini": `[shop]\nweb-9 ${LOCAL}\n`,
      "site.yml": `- name: "Roll out the shop with {{ shop_word }}"
  hosts: "{{ wanted_group | default('shop') }}"
  gather_facts: false
  vars: { shop_word: ${secret}, shop_port: 8443 }
  roles: [{ role: shop }]
`,
      "roles/shop/handlers/main.yml": step(`"wake the shop on {{ shop_port }}"`),
      "roles/shop/tasks/main.yml": [
        step(
          `"Log in with --word {{ shop_word }}"`,
          `  notify: "wake the shop on {{ shop_port }}"\n`,
        ),
        step(`"Open https://svc:${secret}@shop.example.test/"`),
        step(`"Set token=${secret} first"`),
        step(`Read ${secret} back`),
        step("Name without a secret"),
        `- ansible.builtin.command: "echo ${secret}"\n`,
        step(`""`),
        step(`"{{ never_set }}"`),
        step(`"{% raw %}Not {{ really }} one{% endraw %}"`),
        step(`"One {{ '{' }} only"`),
        step(`"With \${SHELL} and {single} braces"`),
      ].join(""),
    },
  });
  expect(ran.native.output).toContain(secret);
  expect(ran.result.state).toBe("succeeded");
  expect(storyOf(ran.events)).toEqual([
    "play ~Dynamic name~",
    "task ~Dynamic name~ | web-9 changed",
    "task ~Withheld name~ | web-9 changed",
    "task ~Withheld name~ | web-9 changed",
    "task ~Withheld name~ | web-9 changed",
    "task Name without a secret | web-9 changed",
    "task Unnamed task | web-9 changed",
    "task Unnamed task | web-9 changed",
    "task ~Dynamic name~ | web-9 changed",
    "task ~Dynamic name~ | web-9 changed",
    "task ~Dynamic name~ | web-9 changed",
    "task With ${SHELL} and {single} braces | web-9 changed",
    "handler ~Dynamic name~ | web-9 changed",
  ]);
  await expectHidden(ran, [secret]);
});

test("a vaulted value that one host cannot open fails that host only", async () => {
  const secret = "Fennel-61-Dotterel";
  const word = "open-the-vault-9";
  const project = {
    "inventory.ini": `[store]\nsql-good ${LOCAL}\nsql-bad ${LOCAL}\nsql-plain ${LOCAL}\n`,
    "host_vars/sql-good.yml": encryptedVariable("sql_word", secret, word),
    "host_vars/sql-bad.yml": encryptedVariable("sql_word", secret, "another-vault-4"),
    "host_vars/sql-plain.yml": "sql_word: nothing-to-hide\n",
    "site.yml": `- name: Settings of the store
  hosts: store
  gather_facts: false
  tasks:
    - name: Before it is needed
      ansible.builtin.command: "true"
    - name: Needed
      ansible.builtin.command: "printf %s {{ sql_word | quote }}"
      register: needed
      changed_when: false
    - name: Show it
      ansible.builtin.debug:
        var: needed.stdout
    - name: Ask about it
      ansible.builtin.command: "true"
      when: sql_word | length > 3
`,
  };
  const hosts = ["sql-good", "sql-bad", "sql-plain"];
  const folder = makeFolder("word");
  const file = join(folder, "word");
  writeFileSync(file, `${word}\n`);
  const opened = await cases.runBoth({
    customer: "vault-opened",
    hosts,
    files: project,
    settings: { credentials: ["vault_password"] },
    credentials: { vault_password: word },
    nativeArguments: ["--vault-password-file", file],
  });
  rmSync(folder, { recursive: true, force: true });
  expect(opened.native.output).toContain(secret);
  expect(storyOf(opened.events)).toEqual([
    "play Settings of the store",
    "task Before it is needed | sql-bad changed | sql-good changed | sql-plain changed",
    "task Needed | sql-bad failed task_failed vault_decryption_failed | sql-good ok | sql-plain ok",
    "task Show it | sql-good ok | sql-plain ok",
    "task Ask about it | sql-good changed | sql-plain changed",
  ]);
  expect(opened.result).toMatchObject({ state: "failed", error: { code: "hosts_failed" } });
  await expectHidden(opened, [secret, word]);

  const closed = await cases.runBoth({ customer: "vault-closed", hosts, files: project });
  const missing = "failed task_failed vault_password_missing";
  expect(storyOf(closed.events)).toEqual([
    "play Settings of the store",
    "task Before it is needed | sql-bad changed | sql-good changed | sql-plain changed",
    `task Needed | sql-bad ${missing} | sql-good ${missing} | sql-plain ok`,
    "task Show it | sql-plain ok",
    "task Ask about it | sql-plain changed",
  ]);
  expect(closed.result).toMatchObject({ state: "failed", error: { code: "hosts_failed" } });
});
