// The demonstration: a real plane, a real runner, real Ansible on several hosts, shown live by aimctl.
// One host is unreachable, one task fails and is rescued, one label is withheld.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./steps.ts";

const AIMCTL = join(ROOT, "clients/cli/main.ts");
const AIMD = join(ROOT, "plane/main.ts");

const INVENTORY = `[web]
web-1 ansible_connection=local
web-2 ansible_connection=local

[db]
db-1 ansible_connection=local
db-2 ansible_host=127.0.0.1 ansible_port=9
`;

const PLAYBOOK = `- name: Roll out the web tier
  hosts: all
  gather_facts: false
  vars:
    release: "1.4.2"
  tasks:
    - name: Check that the host answers
      ansible.builtin.ping:
    - name: Write the release file
      ansible.builtin.copy:
        content: "{{ release }}"
        dest: /tmp/release-{{ inventory_hostname }}
        mode: "0644"
    - name: Switch over
      block:
        - name: Try the new release
          ansible.builtin.command: /bin/false
          changed_when: true
          when: inventory_hostname == "web-2"
      rescue:
        - name: Go back to the old release
          ansible.builtin.debug:
            msg: rolled back
    - name: Log in with password=hunter2
      ansible.builtin.debug:
        msg: this label looks like a credential and is withheld
      notify: Reload
  handlers:
    - name: Reload
      ansible.builtin.command: /bin/true
      changed_when: true
      listen: Reload
`;

async function main(): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), "aim-demo-"));
  chmodSync(home, 0o755);
  const state = join(home, "state");
  const project = join(home, "project");
  mkdirSync(project);
  writeFileSync(join(project, "inventory.ini"), INVENTORY);
  writeFileSync(join(project, "site.yml"), PLAYBOOK);
  const plane = spawn(process.execPath, [AIMD, "serve", "--state", state, "--log", "warn"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => plane.once("exit", () => resolve()));
  const aimctl = (...words: string[]) => show([AIMCTL, ...words, "--state", state], words);
  try {
    await new Promise<void>((resolve, reject) => {
      plane.stdout.once("data", () => resolve());
      plane.once("exit", () => reject(new Error("aimd did not start")));
    });
    const inventory = join(project, "inventory.ini");
    const status = aimctl("run", join(project, "site.yml"), "-i", inventory, "--yes");
    const runs = JSON.parse(ask([AIMCTL, "status", "--output", "json", "--state", state])) as {
      run_id: string;
    }[];
    console.log("\nThe evidence that this run left:");
    const kept = aimctl("artifacts", "list", runs[0]?.run_id ?? "");
    // One host is unreachable on purpose: 4 is the right answer.
    return status === 4 && kept === 0 ? 0 : 1;
  } finally {
    plane.kill("SIGTERM");
    await ended;
    rmSync(home, { recursive: true, force: true });
  }
}

function show(command: readonly string[], words: readonly string[]): number | null {
  console.log(`$ aimctl ${words.join(" ")}`);
  const { status } = spawnSync(process.execPath, command, { stdio: "inherit" });
  console.log(`(exit status ${String(status)})`);
  return status;
}

function ask(command: readonly string[]): string {
  return spawnSync(process.execPath, command, { encoding: "utf8" }).stdout;
}

process.exitCode = await main();
