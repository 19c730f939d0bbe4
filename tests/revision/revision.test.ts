import { appendFileSync, chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { NormalizedRequest, Prepared } from "@aim/contract";
import { aimctl } from "../../clients/cli/testing/run-aimctl.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { openListener, type Listener } from "../harness/listener.ts";
import { startPlane, until, type TestPlane } from "../harness/plane.ts";
import { descendantsOf } from "../harness/processes.ts";
import { countRows } from "../harness/stored.ts";
import { call, operationLine, problemOf } from "../harness/wire.ts";

let plane: TestPlane;
let host: Listener;
let idle: readonly number[];

beforeAll(async () => {
  [plane, host] = await Promise.all([startPlane(), openListener()]);
  idle = descendantsOf(plane.process.pid ?? 0);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
});

const PLAYBOOK = `- name: Change the hosts
  hosts: all
  gather_facts: false
  roles:
    - web
  tasks:
    - name: Place a file
      ansible.builtin.template:
        src: page.j2
        dest: /tmp/page
        mode: "0644"
      tags: [page]
`;

function project(): Record<string, string> {
  const reach = `ansible_host=127.0.0.1 ansible_port=${host.port}`;
  return {
    "site.yml": PLAYBOOK,
    "inventory.ini": `[web]\none ${reach}\ntwo ${reach}\n`,
    "group_vars/web.yml": "color: red\n",
    "host_vars/one.yml": "size: 1\n",
    "roles/web/tasks/main.yml": "- name: Run it\n  ansible.builtin.command: /bin/true\n",
    "roles/web/defaults/main.yml": "level: 1\n",
    "templates/page.j2": "Hello {{ color }}\n",
    "files/tool.sh": "#!/bin/sh\nexit 0\n",
    "requirements.yml": "collections: []\n",
    "ansible.cfg": "[defaults]\ntimeout = 3\n",
  };
}

let customers = 0;

/** A customer of its own, so that no change meets another; answers its name and project. */
function makeCustomer(more: Readonly<Record<string, string>> = {}) {
  customers += 1;
  const customer = `customer-${customers}`;
  const folder = writeCustomer(plane.catalogDir, {
    customer,
    knownHosts: "example ssh-ed25519 AAAA\n",
    playbooks: {
      site: {
        playbook: "site.yml",
        timeout_s: 60,
        tags: ["always", "page"],
        variables: { type: "object", properties: { version: { type: "string" } } },
      },
    },
    files: { ...project(), ...more },
  });
  return { customer, folder };
}

function prepare(customer: string): Promise<Prepared> {
  const request = { customer, playbook: "site", hosts: ["one", "two"] };
  return plane.client.prepare({ ...request, variables: { version: "1" } });
}

async function execute(request: NormalizedRequest, revision: string) {
  const body = operationLine({ operation: "execute", request, revision });
  const answer = await call({ socketPath: plane.socketPath, body });
  return { status: answer.status, code: problemOf(answer).code };
}

/** Changes one byte and nothing else: neither the length nor the time it was written. */
function flip(path: string): void {
  const bytes = readFileSync(path);
  const last = bytes.length - 2;
  bytes[last] = (bytes[last] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

function replaceIn(path: string, before: string, after: string): void {
  const text = readFileSync(path, "utf8");
  if (!text.includes(before)) throw new Error(`${path} does not hold ${before}`);
  writeFileSync(path, text.replace(before, after));
}

type Change = (folder: string) => void;
const inFile =
  (path: string): Change =>
  (folder) =>
    flip(join(folder, path));
const inEntry =
  (before: string, after: string): Change =>
  (folder) =>
    replaceIn(join(dirname(folder), "customer.yml"), before, after);

const CHANGES: Readonly<Record<string, Change>> = {
  "a byte of the playbook": inFile("site.yml"),
  "a byte of a role's tasks": inFile("roles/web/tasks/main.yml"),
  "a byte of a role's defaults": inFile("roles/web/defaults/main.yml"),
  "a byte of the inventory": inFile("inventory.ini"),
  "a byte of the group variables": inFile("group_vars/web.yml"),
  "a byte of the host variables": inFile("host_vars/one.yml"),
  "a byte of the requirements": inFile("requirements.yml"),
  "a byte of a template": inFile("templates/page.j2"),
  "a byte of ansible.cfg": inFile("ansible.cfg"),
  "a byte of the known hosts": (folder) => flip(join(dirname(folder), "known_hosts")),
  "a file that may be executed now": (folder) => chmodSync(join(folder, "files/tool.sh"), 0o755),
  "a new file of variables": (folder) =>
    writeFileSync(join(folder, "host_vars/two.yml"), "size: 2\n"),
  "a file that is gone": (folder) => rmSync(join(folder, "group_vars/web.yml")),
  "a file that is empty now": (folder) => writeFileSync(join(folder, "requirements.yml"), ""),
  "an inventory that grew": (folder) => appendFileSync(join(folder, "inventory.ini"), "three\n"),
  "the declared variables": inEntry("type: string", "type: integer"),
  "the tags of the entry": inEntry("- page", "- pages"),
  "the deadline of the entry": inEntry("timeout_s: 60", "timeout_s: 61"),
  "the playbook of the entry": inEntry("playbook: site.yml", "playbook: other.yml"),
  "an entry that is gone": inEntry("site:", "former:"),
};

describe("after a review nothing runs that differs in", () => {
  test.each(Object.entries(CHANGES))("%s", async (what, change) => {
    const { customer, folder } = makeCustomer();
    const { request, revision } = await prepare(customer);
    change(folder);
    const gone = what === "an entry that is gone";
    expect(await execute(request, revision)).toEqual(
      gone ? { status: 404, code: "unknown_playbook" } : { status: 409, code: "stale_revision" },
    );
    expect(countRows(plane.stateDir, "jobs")).toBe(0);
    expect(countRows(plane.stateDir, "attempts")).toBe(0);
    expect(host.connections()).toBe(0);
    expect(descendantsOf(plane.process.pid ?? 0)).toEqual(idle);
  });

  const ASKED: Readonly<Record<string, Partial<NormalizedRequest>>> = {
    "the order of the hosts": { hosts: ["two", "one"] },
    "a host less": { hosts: ["one"] },
    "a variable": { variables: { version: "2" } },
    "a variable's type": { variables: { version: 1 } },
    "a variable more": { variables: { version: "1", more: "2" } },
    "check mode": { check: true },
    "the progress mode": { progress_mode: "detail" },
    "what it says to destroy": { destructive: true },
  };

  test.each(Object.entries(ASKED))("the request: %s", async (_, asked) => {
    const { customer } = makeCustomer();
    const { request, revision } = await prepare(customer);
    expect(await execute({ ...request, ...asked }, revision)).toEqual({
      status: 409,
      code: "stale_revision",
    });
    expect(countRows(plane.stateDir, "jobs")).toBe(0);
    expect(host.connections()).toBe(0);
  });

  test("another request's revision", async () => {
    const one = await prepare(makeCustomer().customer);
    const other = await prepare(makeCustomer().customer);
    expect(one.revision).not.toBe(other.revision);
    expect((await execute(one.request, other.revision)).code).toBe("stale_revision");
  });
});

test("a change that is taken back leaves the revision as it was reviewed", async () => {
  const { customer, folder } = makeCustomer();
  const before = await prepare(customer);
  flip(join(folder, "templates/page.j2"));
  const other = await prepare(customer);
  flip(join(folder, "templates/page.j2"));
  const after = await prepare(customer);
  expect(other.revision).not.toBe(before.revision);
  expect(after.revision).toBe(before.revision);
});

test("aimctl says with its exit status that the revision is stale", async () => {
  const { customer, folder } = makeCustomer();
  const { request, revision } = await prepare(customer);
  flip(join(folder, "site.yml"));
  const input = `${operationLine({ operation: "execute", request, revision })}\n`;
  const { exit, stdout } = await aimctl(["request", "--socket", plane.socketPath], { input });
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: "stale_revision" } });
  expect(exit).toBe(65);
});

test("a review runs no code of the project and contacts nobody", async () => {
  const code = `import socket
socket.create_connection(("127.0.0.1", ${host.port}), 2)
raise SystemExit("code of the project ran")
`;
  const folders = ["vars_plugins", "lookup_plugins", "filter_plugins", "inventory_plugins"];
  const more = ["callback_plugins", "action_plugins", "strategy_plugins", "connection_plugins"];
  const plugins = [...folders, ...more].map((name) => [`${name}/evil.py`, code]);
  const dial = `{{ lookup('pipe', 'echo > /dev/tcp/127.0.0.1/${host.port}') }}`;
  const { customer } = makeCustomer({
    ...Object.fromEntries(plugins),
    "group_vars/all.yml": `reached: "${dial}"\n`,
    "vars/more.yml": "more: 1\n",
  });
  const { review } = await prepare(customer);
  const named = review.findings.filter(({ code }) => code.startsWith("code_plugin"));
  expect(new Set(named.map(({ at }) => at))).toEqual(
    new Set(plugins.map(([path]) => `project/${path}`)),
  );
  expect(named).toHaveLength(plugins.length);
  expect(review.hosts).toEqual(["one", "two"]);
  expect(review.network).toEqual([{ host: "127.0.0.1", port: host.port, protocol: "tcp" }]);
  expect(host.connections()).toBe(0);
});

// Last: from here on the hosts are contacted.
test("an unchanged revision runs, contacts its hosts and is used up", async () => {
  expect(host.connections()).toBe(0);
  const { customer } = makeCustomer();
  const { request, revision } = await prepare(customer);
  const states: string[] = [];
  for await (const line of plane.client.execute({ request, revision })) {
    if (line.type === "response") states.push(line.response.state);
  }
  expect(states).toEqual(["failed"]);
  expect(host.connections()).toBeGreaterThan(0);
  expect(await execute(request, revision)).toEqual({ status: 409, code: "revision_used" });
  expect(countRows(plane.stateDir, "attempts")).toBe(1);
  const again = await prepare(customer);
  expect(again.review.changes).toEqual({
    files_changed: [],
    hosts_added: [],
    hosts_removed: [],
    variables_changed: [],
    mode_changed: false,
  });
  expect(again.revision).not.toBe(revision);
  await until(5_000, () => descendantsOf(plane.process.pid ?? 0).length === idle.length);
});

test("of many executes of one revision at once only one is accepted", async () => {
  const { customer } = makeCustomer();
  const { request, revision } = await prepare(customer);
  const before = countRows(plane.stateDir, "attempts");
  const body = operationLine({ operation: "execute", request, revision });
  const { socketPath } = plane;
  const answers = await Promise.all(Array.from({ length: 8 }, () => call({ socketPath, body })));
  const accepted = answers.filter(({ status }) => status === 200);
  expect(accepted).toHaveLength(1);
  const refused = answers.filter(({ status }) => status !== 200).map((one) => problemOf(one).code);
  expect(new Set(refused)).toEqual(new Set(["revision_used"]));
  expect(countRows(plane.stateDir, "attempts")).toBe(before + 1);
});
