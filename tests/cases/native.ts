// Runs bare ansible-playbook on the files of a case and reads its final counts through a callback of this test's own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder, writeTree } from "../harness/plane.ts";
import { recapLine } from "../harness/story.ts";

const TOOLCHAIN = fileURLToPath(new URL("../../.aim/toolchain.json", import.meta.url));

/** Ansible's text recap cannot be taken apart for every host name; its numbers can. */
const DUMP_PLUGIN = `
import json
import os
from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = 'aggregate'
    CALLBACK_NAME = 'dump_recap'
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_stats(self, stats):
        rows = {str(host): stats.summarize(host) for host in stats.processed}
        with open(os.environ['DUMP_RECAP'], 'w') as target:
            json.dump(rows, target)
`;

export interface NativeRun {
  readonly status: number | null;
  /** As `recapOf` writes it; null when Ansible came to no recap. */
  readonly recap: readonly string[] | null;
  /** Standard output and error, to show that a secret is really there. */
  readonly output: string;
}

export interface NativeRequest {
  readonly project: string;
  readonly playbook: string;
  readonly inventory: string;
  readonly hosts: readonly string[];
  readonly arguments?: readonly string[];
}

export async function runNative(asked: NativeRequest): Promise<NativeRun> {
  const home = makeFolder("native");
  try {
    const dump = join(home, "recap.json");
    writeTree(home, {
      "plugins/dump_recap.py": DUMP_PLUGIN,
      "ansible.cfg": "[defaults]\n",
      limit: `${asked.hosts.join("\n")}\n`,
    });
    const { venv } = JSON.parse(readFileSync(TOOLCHAIN, "utf8")) as { venv: string };
    const argv = [
      "--inventory",
      asked.inventory,
      "--limit",
      `@${join(home, "limit")}`,
      ...(asked.arguments ?? []),
    ];
    const child = spawn(join(venv, "bin/ansible-playbook"), [...argv, asked.playbook], {
      cwd: asked.project,
      env: environment(home, dump),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        if (output.length < 1_000_000) output += chunk.toString();
      });
    }
    await once(child, "close");
    return { status: child.exitCode, recap: readRecap(dump), output };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function environment(home: string, dump: string): Record<string, string> {
  return {
    ANSIBLE_CALLBACK_PLUGINS: join(home, "plugins"),
    ANSIBLE_CALLBACKS_ENABLED: "dump_recap",
    ANSIBLE_CONFIG: join(home, "ansible.cfg"),
    ANSIBLE_HOME: join(home, "ansible"),
    ANSIBLE_HOST_KEY_CHECKING: "1",
    ANSIBLE_NOCOLOR: "1",
    DUMP_RECAP: dump,
    HOME: home,
    LC_ALL: "C.UTF-8",
    PATH: "/usr/bin:/bin",
    PYTHONDONTWRITEBYTECODE: "1",
  };
}

function readRecap(path: string): string[] | null {
  if (!existsSync(path)) return null;
  const rows = JSON.parse(readFileSync(path, "utf8")) as Record<string, Record<string, number>>;
  return Object.entries(rows)
    .map(([host, counts]) => recapLine(host, inOrder(counts)))
    .toSorted();
}

function inOrder(counts: Readonly<Record<string, number>>): Record<string, number> {
  const names = ["ok", "changed", "failures", "unreachable", "skipped", "rescued", "ignored"];
  return Object.fromEntries(names.map((name) => [name, counts[name] ?? 0]));
}
