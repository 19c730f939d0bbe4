import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeCustomer } from "../harness/catalog.ts";
import { runRequest, startPlane, type Ran, type TestPlane } from "../harness/plane.ts";
import { outcomesOf, recapOf, storyOf } from "../harness/story.ts";
import {
  ATTACKING_ACTION,
  ATTACKING_MODULE,
  HOSTILE_CALLBACK,
  OUR_NAME_CALLBACK,
  RAISING_CALLBACK,
  strategy,
  WILD_ACTION,
} from "./hostile.ts";

let plane: TestPlane;

beforeAll(async () => {
  plane = await startPlane();
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
});

const INVENTORY = "one ansible_connection=local\ntwo ansible_connection=local\n";
const NOTHING_LOADED = `    - name: No callback was loaded
      ansible.builtin.command: test ! -e /tmp/callback-loaded
      changed_when: false
`;

let customers = 0;

async function run(files: Record<string, string>, timeout_s = 60): Promise<Ran> {
  customers += 1;
  const customer = `customer-${customers}`;
  writeCustomer(plane.catalogDir, {
    customer,
    playbooks: { site: { playbook: "site.yml", timeout_s, grace_s: 1 } },
    files: { "inventory.ini": INVENTORY, ...files },
  });
  return runRequest(plane.client, { customer, playbook: "site", hosts: ["one", "two"] });
}

function codeIn(ran: Ran): string[] {
  return ran.prepared.review.findings
    .filter(({ code }) => code.startsWith("code_plugin"))
    .map(({ code, at }) => `${code} ${at ?? "?"}`)
    .toSorted();
}

const CALLBACKS = {
  "callback_plugins/hostile.py": HOSTILE_CALLBACK,
  "callback_plugins/raising.py": RAISING_CALLBACK,
  "callback_plugins/aim_events.py": OUR_NAME_CALLBACK,
  "roles/web/callback_plugins/hostile.py": HOSTILE_CALLBACK,
  "roles/web/callback_plugins/raising.py": RAISING_CALLBACK,
  "roles/web/callback_plugins/aim_events.py": OUR_NAME_CALLBACK,
  "collections/ansible_collections/acme/tools/plugins/callback/hush.py": HOSTILE_CALLBACK,
};

describe("callbacks of a project", () => {
  test("are named in the review, are not loaded and change no event", async () => {
    const ran = await run({
      ...CALLBACKS,
      "ansible.cfg": `[defaults]
callback_plugins = callback_plugins
callbacks_enabled = hostile, raising, aim_events, acme.tools.hush
stdout_callback = acme.tools.hush
`,
      "roles/web/tasks/main.yml": "- name: In the role\n  ansible.builtin.ping:\n",
      "site.yml": `- name: Surrounded
  hosts: all
  gather_facts: false
  roles:
    - web
  tasks:
${NOTHING_LOADED}`,
    });
    expect(codeIn(ran)).toEqual(
      Object.keys(CALLBACKS)
        .map((path) => `code_plugin_ignored project/${path}`)
        .toSorted(),
    );
    const dropped = ran.prepared.review.findings.filter(({ code }) => code === "config_dropped");
    expect(dropped.map(({ at }) => at)).toEqual([
      "project/ansible.cfg:2",
      "project/ansible.cfg:3",
      "project/ansible.cfg:4",
    ]);
    expect(storyOf(ran.events)).toEqual([
      "play Surrounded",
      "task In the role | one ok | two ok",
      "task No callback was loaded | one ok | two ok",
    ]);
    expect(recapOf(ran.events)).toEqual(["one ok=2", "two ok=2"]);
    expect([ran.result.state, ...outcomesOf(ran.result)]).toEqual([
      "succeeded",
      "one succeeded",
      "two succeeded",
    ]);
  });
});

const CODE = {
  "action_plugins/attack.py": ATTACKING_ACTION,
  "library/attack_from_module.py": ATTACKING_MODULE,
  "module_utils/acme_words.py": 'WORD = "hello"\n',
  "filter_plugins/acme.py":
    'class FilterModule:\n    def filters(self):\n        return {"twice": lambda text: text * 2}\n',
  "lookup_plugins/acme_look.py":
    'from ansible.plugins.lookup import LookupBase\nclass LookupModule(LookupBase):\n    def run(self, terms, variables=None, **kwargs):\n        return ["seen"]\n',
  "roles/web/library/in_role.py": ATTACKING_MODULE,
  "roles/web/module_utils/acme_more.py": 'WORD = "more"\n',
  "collections/ansible_collections/acme/tools/plugins/modules/stamp.py": ATTACKING_MODULE.replace(
    "ansible.module_utils.acme_words",
    "ansible_collections.acme.tools.plugins.module_utils.words",
  ),
  "collections/ansible_collections/acme/tools/plugins/module_utils/words.py": 'WORD = "hi"\n',
};

describe("other code of a project", () => {
  test("is named in the review, runs, and finds no way to the private channel", async () => {
    const ran = await run({
      ...CODE,
      "collections/ansible_collections/acme/tools/galaxy.yml":
        "namespace: acme\nname: tools\nversion: 1.0.0\n",
      "roles/web/tasks/main.yml": "- name: A module of the role\n  in_role:\n",
      "site.yml": `- name: Code everywhere
  hosts: all
  gather_facts: false
  roles:
    - web
  tasks:
    - name: An action plugin in a worker
      attack:
    - name: A module in a process of its own
      attack_from_module:
      register: said
    - name: A module of a collection
      acme.tools.stamp:
    - name: What the code said
      ansible.builtin.assert:
        that:
          - said.word | twice == 'hellohello'
          - lookup('acme_look') == 'seen'
`,
    });
    expect(codeIn(ran)).toEqual(
      Object.keys(CODE)
        .map((path) => `code_plugin project/${path}`)
        .toSorted(),
    );
    const each = "one ok | two ok";
    expect(storyOf(ran.events)).toEqual([
      "play Code everywhere",
      `task A module of the role | ${each}`,
      `task An action plugin in a worker | ${each}`,
      `task A module in a process of its own | ${each}`,
      `task A module of a collection | ${each}`,
      `task What the code said | ${each}`,
    ]);
    expect(recapOf(ran.events)).toEqual(["one ok=5", "two ok=5"]);
    expect(ran.result.state).toBe("succeeded");
    expect(JSON.stringify(ran)).not.toContain("FORGED");
  });

  test("that writes into everything a worker holds forges nothing", async () => {
    const files = {
      "action_plugins/wild.py": WILD_ACTION,
      "site.yml": `- name: Wild
  hosts: all
  gather_facts: false
  tasks:
    - name: First
      ansible.builtin.ping:
    - name: Write everywhere
      wild:
`,
    };
    const ran = await run(files, 10);
    expect(JSON.stringify(ran)).not.toContain("FORGED");
    expect(storyOf(ran.events).slice(0, 2)).toEqual(["play Wild", "task First | one ok | two ok"]);
    // Ansible itself may choke on what its worker wrote; then nothing is claimed that is not known.
    if (ran.result.state !== "succeeded") {
      expect(ran.result.error?.code).toMatch(/^(tool_failed|event_bridge_incomplete|timed_out)$/);
      expect(ran.result.target_summary.succeeded).toBe(0);
    }
  });
});

const ENDINGS = [
  ["kills the main process", "os.kill(os.getpid(), signal.SIGKILL)", "event_bridge_incomplete"],
  ["ends it with status 0", "os._exit(0)", "event_bridge_incomplete"],
  ["closes every descriptor", "os.closerange(3, 1000)", "event_bridge_incomplete"],
  [
    "forges a frame and ends with status 0",
    `[os.write(fd, b'{"n":99}\\n') for fd in range(3, 300) if os.path.exists("/proc/self/fd/%d" % fd) and os.readlink("/proc/self/fd/%d" % fd).startswith("socket:")]; os._exit(0)`,
    "invalid_event_stream",
  ],
] as const;

describe("a strategy plugin that", () => {
  test.each(ENDINGS)("%s never leaves a success", async (_, then, code) => {
    const ran = await run({
      "strategy_plugins/rogue.py": strategy(then),
      "site.yml": `- name: In bad hands
  hosts: all
  gather_facts: false
  strategy: rogue
  tasks:
    - name: Work
      ansible.builtin.ping:
`,
    });
    expect(codeIn(ran)).toEqual(["code_plugin project/strategy_plugins/rogue.py"]);
    expect(storyOf(ran.events)).toEqual(["play In bad hands", "task Work | one ok | two ok"]);
    expect(recapOf(ran.events)).toEqual([]);
    expect({ ...ran.result, code: ran.result.error?.code }).toMatchObject({
      state: "failed",
      code,
      effect: "unknown",
      remote_work: "started",
      kill_confirmed: true,
    });
    expect(outcomesOf(ran.result)).toEqual(["one unknown", "two unknown"]);
  });
});
