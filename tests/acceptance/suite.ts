// Runs the acceptance scenarios against a plane through its local socket, two at a time, whatever its catalog holds.
import { deepEqual } from "node:assert/strict";
import { join } from "node:path";
import type { Client } from "@aim/sdk";
import { runRequest, writeTree, type Ran } from "../harness/plane.ts";
import { wordsFoundIn } from "../harness/story.ts";
import { projectFiles } from "./project.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { openLab, type Lab } from "./sshd.ts";

export interface Verdict {
  readonly scenario: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly ms: number;
  readonly problem: string | null;
}

const LANES = 2;
const TIMEOUT_S = 120;

/** Native words that a result holds in each of these failures; none may come out. */
const NATIVE_WORDS = [
  "Connection refused",
  "Could not resolve hostname",
  "IDENTIFICATION HAS CHANGED",
  "Host key verification failed",
  "host key is known for",
  "Permission denied",
  "banner exchange",
  "Incorrect su password",
  "Failed to connect",
  "Task failed",
  "non-zero return code",
  "gone-for-good",
  "/opt/nowhere",
  "/bin/",
];

/** Everything about the lab that no event and no result may hold. */
export function secretWords(lab: Lab): string[] {
  const { address, folder, user, ports, accounts, key, strangerKey } = lab;
  const people = (accounts ?? []).flatMap(({ name, password }) => [name, password]);
  const keys = [key, strangerKey].map((text) => text.split("\n")[1] ?? text);
  return [
    address,
    folder,
    user,
    "nobody-of-ours",
    ...Object.values(ports).map(String),
    ...people,
    ...keys,
    ...NATIVE_WORDS,
  ];
}

export async function runSuite(
  client: Client,
  tell: (verdict: Verdict) => void,
): Promise<Verdict[]> {
  await using lab = await openLab();
  const project = join(lab.folder, "project");
  writeTree(project, projectFiles(lab));
  writeTree(lab.folder, { known_hosts: lab.knownHosts });
  const waiting = [...SCENARIOS];
  const verdicts: Verdict[] = [];
  const lane = async (): Promise<void> => {
    for (let scenario = waiting.shift(); scenario !== undefined; scenario = waiting.shift()) {
      const verdict = await judge(client, lab, scenario);
      verdicts.push(verdict);
      tell(verdict);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return verdicts;
}

async function judge(client: Client, lab: Lab, scenario: Scenario): Promise<Verdict> {
  const begin = performance.now();
  const verdict = (outcome: Verdict["outcome"], problem: string | null): Verdict => ({
    scenario: scenario.name,
    outcome,
    ms: Math.round(performance.now() - begin),
    problem,
  });
  if (scenario.needsAccounts === true && lab.accounts === null) {
    return verdict("skipped", "users of its own can only be made by root");
  }
  try {
    const ran = await run(client, lab, scenario);
    scenario.expect(ran, lab);
    deepEqual(wordsFoundIn([ran.events, ran.result], secretWords(lab)), []);
    return verdict("passed", null);
  } catch (error) {
    return verdict("failed", error instanceof Error ? error.message : String(error));
  }
}

async function run(client: Client, lab: Lab, scenario: Scenario): Promise<Ran> {
  const project = join(lab.folder, "project");
  const credentials = scenario.credentials(lab);
  const { customer, playbook } = await client.project({
    playbook: join(project, scenario.playbook),
    role: null,
    inventory: [join(project, scenario.inventory)],
    known_hosts: join(lab.folder, "known_hosts"),
    limit: null,
    credential_slots: Object.keys(credentials),
    options: {
      forks: 10,
      tags: [],
      skip_tags: [],
      user: null,
      become: false,
      timeout_s: TIMEOUT_S,
      grace_s: 5,
    },
  });
  const request = {
    customer,
    playbook,
    hosts: [...scenario.hosts],
    check: scenario.check ?? false,
  };
  return runRequest(client, request, { credentials });
}
