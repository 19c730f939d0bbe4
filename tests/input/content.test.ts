import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROBLEMS, type ProblemCode } from "@aim/contract";
import { aimctl } from "../../clients/cli/testing/run-aimctl.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { startPlane, type TestPlane } from "../harness/plane.ts";
import { descendantsOf } from "../harness/processes.ts";
import { countRows } from "../harness/stored.ts";
import { call, operationLine, problemOf } from "../harness/wire.ts";

let plane: TestPlane;
let idle: readonly number[];

const play = (tasks: string, more = ""): string =>
  `- name: Change the hosts\n  hosts: all\n  gather_facts: false\n${more}  tasks:\n${tasks}`;
const GOOD = play("    - name: Do the change\n      ansible.builtin.command: 'true'\n");

const INVENTORIES = {
  "good.ini": "[web]\nweb-1 ansible_connection=local\n",
  "broken-children.ini":
    "[web]\nweb-1 ansible_connection=local\n[web:children]\nmissing_group\n[other]\nother-1\n",
  "broken-syntax.ini": '[web\nweb-1 ansible_connection=local\nthis line "is not closed\n',
  "broken.yml": "all:\n  hosts:\n    db-1: {a: [1, 2\n",
  "half.json": '{"web": {"hosts": {"web-1": {}, "web-[2": {}, "web-3": {}}}}',
  "cut.json": '{"web": {"hosts": {"web-1": {}, "web-2"',
  "twice.json": '{"web": {"hosts": {"web-1": {}}}, "web": {"hosts": {"web-2": {}}}}',
  "empty.ini": "# nobody\n",
  "mixed/10-good.ini": "[web]\nweb-1 ansible_connection=local\n",
  "mixed/20-broken.yml": "all:\n  hosts:\n    db-1: {a: [1, 2\n",
} as const;

interface Refused {
  readonly what: string;
  readonly code: ProblemCode;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly at?: string;
}

const inventory = (...names: string[]) => ({ playbook: "good.yml", inventory: names });

const ENTRIES: Readonly<Record<string, Refused>> = {
  "missing-inventory": {
    what: "an inventory that is not there",
    code: "inventory_unreadable",
    settings: inventory("not-there.ini"),
  },
  "broken-children": {
    what: "an inventory with a child that no group defines",
    code: "inventory_unreadable",
    settings: inventory("broken-children.ini"),
  },
  "broken-syntax": {
    what: "an inventory with an open bracket",
    code: "inventory_unreadable",
    settings: inventory("broken-syntax.ini"),
  },
  "half-folder": {
    what: "an inventory folder of which one of two files is broken",
    code: "inventory_unreadable",
    settings: inventory("mixed"),
    at: "project/mixed/20-broken.yml:4",
  },
  "half-sources": {
    what: "two inventories of which one is broken",
    code: "inventory_unreadable",
    settings: inventory("good.ini", "broken.yml"),
    at: "project/broken.yml:4",
  },
  "half-json": {
    what: "a JSON inventory with one name that hides the rest",
    code: "inventory_unreadable",
    settings: inventory("half.json"),
  },
  "cut-json": {
    what: "a JSON inventory that ends too early",
    code: "inventory_unreadable",
    settings: inventory("cut.json"),
    at: "project/cut.json:2",
  },
  "twice-json": {
    what: "a JSON inventory with a group that stands twice",
    code: "inventory_unreadable",
    settings: inventory("twice.json"),
    at: "project/twice.json:1",
  },
  "empty-inventory": {
    what: "an inventory without a host",
    code: "inventory_empty",
    settings: inventory("empty.ini"),
  },
  "no-playbook": {
    what: "a playbook that is not there",
    code: "playbook_not_found",
    settings: { playbook: "not-there.yml" },
  },
  "yaml-error": {
    what: "a playbook that is no YAML",
    code: "playbook_syntax",
    settings: { playbook: "yaml-error.yml" },
    at: "project/yaml-error.yml:5",
  },
  "unknown-keyword": {
    what: "a play with a keyword that does not exist",
    code: "playbook_syntax",
    settings: { playbook: "unknown-keyword.yml" },
    at: "project/unknown-keyword.yml:3",
  },
  "broken-import": {
    what: "a broken file of tasks behind an import",
    code: "playbook_syntax",
    settings: { playbook: "broken-import.yml" },
    at: "project/tasks/broken.yml:3",
  },
  "no-collection": {
    what: "a collection that is not there",
    code: "collection_missing",
    settings: { playbook: "no-collection.yml" },
    at: "project/no-collection.yml:5",
  },
  "no-role": {
    what: "a role that is not there",
    code: "role_missing",
    settings: { playbook: "no-role.yml" },
    at: "project/no-role.yml:5",
  },
  "role-entry": {
    what: "an entry for a role that is not there",
    code: "role_missing",
    settings: { role: "absent" },
  },
  "no-module": {
    what: "a module that is not there",
    code: "module_missing",
    settings: { playbook: "no-module.yml" },
    at: "project/no-module.yml:5",
  },
  questions: {
    what: "a playbook that asks questions",
    code: "vars_prompt_unsupported",
    settings: { playbook: "questions.yml" },
    at: "project/questions.yml:1",
  },
};

const FILES = {
  "good.yml": GOOD,
  "yaml-error.yml": "- name: Broken\n  hosts: all\n  tasks:\n    - name: [unclosed\n",
  "unknown-keyword.yml": GOOD.replace("gather_facts", "gather_fact"),
  "broken-import.yml": play("    - ansible.builtin.import_tasks: tasks/broken.yml\n"),
  "tasks/broken.yml": "- name: Fine\n  ansible.builtin.command: [unclosed\n",
  "no-collection.yml": play("    - name: Use it\n      nobody.nothing.thing:\n"),
  "no-role.yml": play("    []\n", "  roles:\n    - absent\n"),
  "no-module.yml": play("    - name: Use it\n      surely_not_a_module:\n"),
  "questions.yml": play("    []\n", "  vars_prompt:\n    - name: answer\n      private: false\n"),
};

beforeAll(async () => {
  plane = await startPlane();
  writeCustomer(plane.catalogDir, {
    playbooks: Object.fromEntries(
      Object.entries(ENTRIES).map(([id, { settings }]) => [
        id,
        { inventory: ["good.ini"], ...settings },
      ]),
    ),
    files: { ...FILES, ...INVENTORIES },
  });
  idle = descendantsOf(plane.process.pid ?? 0);
});

afterAll(async () => {
  try {
    expect(countRows(plane.stateDir, "attempts")).toBe(0);
    expect(countRows(plane.stateDir, "jobs")).toBe(0);
  } finally {
    await plane[Symbol.asyncDispose]();
  }
});

function prepareLine(playbook: string, customer = "acme"): string {
  return operationLine({
    operation: "prepare",
    request: { customer, playbook, hosts: ["web-1"] },
  });
}

async function refusal(playbook: string, customer?: string) {
  const { socketPath } = plane;
  const answer = await call({ socketPath, body: prepareLine(playbook, customer) });
  const problem = problemOf(answer);
  expect(answer.status).toBe(PROBLEMS[problem.code][0]);
  expect(problem.message).toBe(PROBLEMS[problem.code][1]);
  expect(descendantsOf(plane.process.pid ?? 0)).toEqual(idle);
  return { code: problem.code, at: problem.at };
}

describe("content that could not run whole", () => {
  test.each(Object.entries(ENTRIES))("is refused at the review: %s", async (id, entry) => {
    const { code, at } = await refusal(id);
    expect({ what: entry.what, code, at }).toEqual({
      what: entry.what,
      code: entry.code,
      at: entry.at,
    });
  });

  test("ends aimctl with the status of a wrong input", async () => {
    for (const id of ["half-json", "yaml-error", "no-collection", "empty-inventory"]) {
      const words = ["request", "--socket", plane.socketPath];
      const { exit, stdout } = await aimctl(words, { input: `${prepareLine(id)}\n` });
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: ENTRIES[id]?.code } });
      expect(exit).toBe(64);
    }
  });

  test("is refused by aimctl run in words, with the place", async () => {
    const project = join(plane.catalogDir, "acme", "project");
    const words = ["--socket", plane.socketPath, "run", join(project, "yaml-error.yml")];
    const more = ["-i", join(project, "good.ini"), "--yes", "--output", "json"];
    const { exit, stdout, stderr } = await aimctl([...words, ...more]);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "playbook_syntax" } });
    expect(stderr).toContain(PROBLEMS.playbook_syntax[1]);
    expect(stderr).toContain("yaml-error.yml:5");
    expect(stderr).not.toContain("unclosed");
    expect(exit).toBe(64);
  });
});

const VAULTED = `$ANSIBLE_VAULT;1.1;AES256
${"62633265396635306530353330636134663835643233383263646264303739626438653764".padEnd(80, "0")}
`;

describe("files that are not what they seem", () => {
  function customer(name: string, files: Record<string, string>): string {
    return writeCustomer(plane.catalogDir, {
      customer: name,
      playbooks: { site: { playbook: "good.yml", inventory: ["good.ini"] } },
      files: { "good.yml": GOOD, "good.ini": INVENTORIES["good.ini"], ...files },
    });
  }

  test("variables that are vaulted as a whole are refused without a password slot", async () => {
    customer("vaulted", { "group_vars/all/vault.yml": VAULTED });
    expect(await refusal("site", "vaulted")).toMatchObject({ code: "vault_password_missing" });
  });

  test("with a password slot such variables are named and left out of the review", async () => {
    const settings = { playbook: "good.yml", inventory: ["good.ini"] };
    writeCustomer(plane.catalogDir, {
      customer: "locked",
      playbooks: { site: { ...settings, credentials: ["vault_password"] } },
      files: {
        "good.yml": GOOD,
        "good.ini": INVENTORIES["good.ini"],
        "group_vars/all/vault.yml": VAULTED,
      },
    });
    const request = { customer: "locked", playbook: "site", hosts: ["web-1"] };
    const { findings } = (await plane.client.prepare(request)).review;
    expect(findings.map(({ code, at }) => [code, at])).toContainEqual([
      "vaulted_variables",
      "project/group_vars/all/vault.yml:1",
    ]);
  });

  test("a playbook that is vaulted as a whole is refused without a password slot", async () => {
    customer("sealed", { "good.yml": VAULTED });
    expect(await refusal("site", "sealed")).toMatchObject({ code: "vault_password_missing" });
  });

  test("links are followed inside the project and refused where they leave it", async () => {
    const project = customer("linked", { "files/real.txt": "text" });
    symlinkSync("real.txt", join(project, "files", "alias.txt"));
    const request = { customer: "linked", playbook: "site", hosts: ["web-1"] };
    expect((await plane.client.prepare(request)).review.files).toBe(4);
    symlinkSync("/etc/hostname", join(project, "files", "out.txt"));
    const away = { code: "content_unsupported", at: "project/files/out.txt" };
    expect(await refusal("site", "linked")).toEqual(away);
  });

  test("a link to nothing is refused", async () => {
    const project = customer("dangling", {});
    symlinkSync("nowhere", join(project, "nothing.yml"));
    expect(await refusal("site", "dangling")).toEqual({
      code: "content_unsupported",
      at: "project/nothing.yml",
    });
  });
});
