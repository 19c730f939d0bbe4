import { randomInt } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { RunResult } from "@aim/contract";
import { expect, test } from "vitest";
import { readRunnerSettings } from "../../runner/settings.ts";
import { labMissing, openLab } from "../acceptance/sshd.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { eventsOf, runRequest, until, type Ran } from "../harness/plane.ts";
import { pidsWith } from "../harness/processes.ts";
import { LOCAL, useCasePlane } from "./case-plane.ts";
import { commandsIn, sandboxWith } from "./sandboxes.ts";

const cases = useCasePlane();
const missing = labMissing();
if (missing !== null) process.stdout.write(`cancellation over ssh is not run: ${missing}\n`);

const GRACE_S = 2;
const FOUND_MS = 60_000;

/** `mark` makes the sleeps of each host findable among all processes of the machine. */
const SITE = `- name: Work that outlives a stop
  hosts: all
  gather_facts: false
  tasks:
    - name: Quick start
      ansible.builtin.command: "true"
    - name: Left in the background
      ansible.builtin.command: "sleep 61.{{ mark }}"
      async: 120
      poll: 0
    - name: Left in a session of its own
      ansible.builtin.shell: "setsid sleep 62.{{ mark }} >/dev/null 2>&1 </dev/null &"
    - name: Long step
      ansible.builtin.shell: "trap '' TERM INT HUP; sleep 63.{{ mark }} & wait; wait"
    - name: Never reached
      ansible.builtin.command: "true"
`;

const newMark = (): string => String(randomInt(10_000_000, 99_999_999));

function homesOfSandboxes(runId: string): string[] {
  const { runtimeDir } = readRunnerSettings(["--state", cases.plane().stateDir], process.env);
  return readdirSync(join(runtimeDir, "s")).filter((name) => name.startsWith(runId));
}

interface Seen {
  runId: string;
  namespace: string;
  /** Command lines in the sandbox just before the stop. */
  running: readonly string[];
}

/** Waits until the whole crowd of the long step is there and answers what it saw of it. */
async function lookAround(runId: string, mark: string): Promise<Seen> {
  for (const seconds of [61, 62, 63]) {
    await until(FOUND_MS, () => pidsWith(`sleep ${seconds}.${mark}`).length > 0);
  }
  const namespace = sandboxWith(`sleep 63.${mark}`);
  if (namespace === null) throw new Error("the long step runs in no sandbox");
  expect(homesOfSandboxes(runId)).toHaveLength(1);
  return {
    runId,
    namespace,
    running: commandsIn(namespace),
  };
}

function expectNothingLeft(seen: Seen, mark: string): void {
  expect(commandsIn(seen.namespace)).toEqual([]);
  expect(pidsWith(`.${mark}`)).toEqual([]);
  expect(homesOfSandboxes(seen.runId)).toEqual([]);
}

function expectHonest({ events, result }: Ran, state: RunResult["state"]): void {
  expect(result).toMatchObject({
    state,
    error: { code: state },
    effect: "unknown",
    remote_work: "started",
    kill_confirmed: true,
    stats: null,
  });
  expect(new Set(result.targets.map(({ outcome }) => outcome))).toEqual(new Set(["unknown"]));
  expect([eventsOf(events, "host_recap"), eventsOf(events, "stats")]).toEqual([[], []]);
  expect(eventsOf(events, "task_started").map(({ label }) => label)).not.toContain("Never reached");
}

test.skipIf(missing !== null)(
  "a cancelled run leaves nothing on the controller, over ssh too, and vouches for no target",
  async () => {
    await using lab = await openLab();
    const [here, there] = [newMark(), newMark()];
    writeCustomer(cases.plane().catalogDir, {
      customer: "cancelled",
      knownHosts: lab.knownHosts,
      playbooks: { case: { playbook: "site.yml", grace_s: GRACE_S, credentials: ["ssh_key"] } },
      files: {
        "site.yml": SITE,
        "inventory.ini": `near ${LOCAL} mark=${here}
far ansible_host=${lab.address} ansible_port=${lab.ports.known} ansible_user=${lab.user} ansible_python_interpreter=/usr/bin/python3 ansible_async_dir=${lab.folder}/async ansible_remote_tmp=${lab.folder}/remote mark=${there}
`,
      },
    });
    let seen: Seen | undefined;
    let asked = 0;
    const ran = await runRequest(
      cases.plane().client,
      { customer: "cancelled", playbook: "case", hosts: ["near", "far"] },
      {
        credentials: { ssh_key: lab.key },
        onEvent: async (event) => {
          if (event.kind !== "task_started" || event.label !== "Long step") return;
          seen = await lookAround(event.run_id, here);
          await until(FOUND_MS, () => pidsWith(`sleep 63.${there}`).length > 0);
          asked = performance.now();
          await cases.plane().client.cancel(event.run_id);
        },
      },
    );
    const elapsed = performance.now() - asked;
    try {
      if (seen === undefined) throw new Error("the long step was never told");
      expectNothingLeft(seen, here);
      expect(elapsed).toBeLessThan(GRACE_S * 1000 + 1000);
      // What stood there before: the long step, its child, and the shared connection's master.
      expect(seen.running.filter((line) => line.includes("[mux]"))).toHaveLength(1);
      expectHonest(ran, "cancelled");
      // The target's own processes are out of reach, which is why its effect is unknown.
      expect(pidsWith(`sleep 61.${there}`).length).toBeGreaterThan(0);
    } finally {
      for (const pid of pidsWith(`.${there}`)) process.kill(pid, "SIGKILL");
    }
  },
);

test("a run that reaches its deadline is timed out and leaves nothing either", async () => {
  const mark = newMark();
  const timeoutS = 20;
  const late = {
    customer: "timed-out",
    hosts: ["near"],
    settings: { timeout_s: timeoutS, grace_s: 1 },
    files: { "site.yml": SITE, "inventory.ini": `near ${LOCAL} mark=${mark}\n` },
  };
  cases.write(late);
  let seen: Seen | undefined;
  const begin = performance.now();
  const ran = await cases.run({
    ...late,
    onEvent: async (event) => {
      if (event.kind !== "task_started" || event.label !== "Long step") return;
      seen = await lookAround(event.run_id, mark);
    },
  });
  if (seen === undefined) throw new Error("the long step was never told");
  expectNothingLeft(seen, mark);
  expectHonest(ran, "timed_out");
  expect(performance.now() - begin).toBeGreaterThan(timeoutS * 1000);
});
