// The same playbook run in four ways, each as a command to measure.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ANSIBLE_CORE_VERSION, type EventBody } from "@aim/contract";
import { createFrameReader } from "../drivers/ansible/frames.ts";
import { createProjection } from "../drivers/ansible/projection.ts";
import type { Command } from "./measure.ts";
import type { Place } from "./place.ts";

export interface Work {
  readonly name: string;
  readonly hosts: number;
  readonly tasks: number;
}

const FORKS = 10;
const NONCE = "bench";
/** What Ansible prints when a play starts. */
const FIRST_LINE = "PLAY [";

/** Writes playbook and inventory in the layout that ansible-runner wants; the others are given the same files. */
export function writeWork(place: Place, work: Work): string {
  const folder = join(place.home, work.name);
  for (const name of ["project", "inventory"]) mkdirSync(join(folder, name), { recursive: true });
  const hosts = numbers(work.hosts).map((n) => `host${n} ansible_connection=local\n`);
  writeFileSync(join(folder, "inventory/hosts.ini"), hosts.join(""));
  const tasks = numbers(work.tasks).map(
    (n) => `    - name: Task number ${n}\n      ansible.builtin.debug:\n        msg: step ${n}\n`,
  );
  writeFileSync(
    join(folder, "project/site.yml"),
    `- name: Work\n  hosts: all\n  gather_facts: false\n  tasks:\n${tasks.join("")}`,
  );
  return folder;
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

function playbookArguments(folder: string): string[] {
  const inventory = join(folder, "inventory/hosts.ini");
  return ["--inventory", inventory, "--forks", String(FORKS), join(folder, "project/site.yml")];
}

export function bare(place: Place, folder: string, output: Command["output"]): Command {
  const argv = [join(place.bin, "ansible-playbook"), ...playbookArguments(folder)];
  return { argv, env: place.env, cwd: folder, output, firstMark: FIRST_LINE };
}

export interface Heard {
  readonly onBytes?: (bytes: Uint8Array) => void;
  readonly emit?: (event: EventBody) => void;
}

/** Our launcher; its frames go through reader and projection as in the product. */
export function launcher(
  place: Place,
  folder: string,
  { emit = () => undefined, onBytes }: Heard = {},
): Command & { readonly check: () => void } {
  const projection = createProjection({
    mode: "detail",
    nonce: NONCE,
    ansible: ANSIBLE_CORE_VERSION,
    callback: place.callbackDigest,
    publicHost: (host) => ({ host, host_redacted: false }),
    holdsCredential: () => false,
    knowsChange: () => true,
    emit,
  });
  const reader = createFrameReader((frame) => projection.accept(frame));
  const own = [
    "-I",
    join(place.callbackDir, "aim_play.py"),
    "--frames-fd",
    "3",
    "--config-fd",
    "4",
  ];
  return {
    argv: [place.python, ...own, "--", ...playbookArguments(folder)],
    env: place.env,
    cwd: folder,
    output: "null",
    firstMark: '"k":"play"',
    config: JSON.stringify({ nonce: NONCE, result_key: null, result_max: 65_536 }),
    onFrames: (bytes) => {
      reader.push(bytes);
      onBytes?.(bytes);
    },
    check: () => {
      if (reader.fault !== null || !projection.books.ended) throw new Error("damaged frames");
    },
  };
}

export function runner(place: Place, folder: string, output: Command["output"]): Command {
  const program = [join(place.peers, "ansible-runner"), "run", folder];
  const which = ["--playbook", "site.yml", "--forks", String(FORKS), "--rotate-artifacts", "1"];
  const env = { ...place.env, PATH: `${place.peers}:${place.env["PATH"] ?? ""}` };
  return { argv: [...program, ...which], env, cwd: folder, output, firstMark: FIRST_LINE };
}

/** Ansible with its default output, and ARA recording offline into SQLite. */
export function ara(place: Place, folder: string): Command {
  const where = "import ara.setup; print(ara.setup.callback_plugins)";
  const plugins = execFileSync(place.peersPython, ["-c", where], { encoding: "utf8" }).trim();
  const env = {
    ...place.env,
    ANSIBLE_CALLBACK_PLUGINS: plugins,
    ARA_API_CLIENT: "offline",
    ARA_BASE_DIR: join(place.home, "ara"),
  };
  const argv = [join(place.peers, "ansible-playbook"), ...playbookArguments(folder)];
  return { argv, env, cwd: folder, output: "null" };
}
