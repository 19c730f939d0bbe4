// A runner of the test's own, which speaks the runner protocol and says what it likes.
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Client } from "@aim/sdk";
import type {
  ArtifactFile,
  AttemptGrant,
  Completion,
  Prepared,
  Register,
  RunRequest,
  RunResult,
} from "@aim/contract";
import { newId } from "../../plane/base/ids.ts";
import { createPlaneClient, type PlaneClient } from "../../runner/plane-client.ts";
import { aCompletion } from "../store/samples.ts";
import { writeCustomer } from "./catalog.ts";
import { until, type TestPlane } from "./plane.ts";
import { startRunner } from "./runner-process.ts";

/** Prepares with a real runner that is gone before anything is executed. */
export async function prepareAll(
  plane: TestPlane,
  requests: readonly RunRequest[],
): Promise<Prepared[]> {
  writeCustomer(plane.catalogDir, {
    playbooks: Object.fromEntries(
      requests.map(({ playbook }) => [playbook, { playbook: "site.yml" }]),
    ),
    files: {
      "inventory.ini": "one ansible_connection=local\n",
      "site.yml": "- hosts: all\n  gather_facts: false\n  tasks: []\n",
    },
  });
  const runner = startRunner(["--state", plane.stateDir]);
  try {
    await until(60_000, async () => (await plane.client.capabilities()).runtime_ready);
    const prepared = [];
    for (const request of requests) prepared.push(await plane.client.prepare(request));
    return prepared;
  } finally {
    runner.process.kill("SIGTERM");
    await runner.ended;
  }
}

/** Executes what was prepared; answers its final result. */
export async function executeAll(client: Client, prepared: Prepared): Promise<RunResult> {
  const { request, revision } = prepared;
  for await (const line of client.execute({ request, revision })) {
    if (line.type === "response") return line.response;
  }
  throw new Error("no result");
}

export function aRegister(fields: Partial<Register> = {}): Register {
  return {
    runner_instance_id: newId("rnr"),
    runner_kind: "process",
    job_types: ["ansible.playbook.run", "ansible.check_mode.run"],
    slots: 1,
    runtime: {
      ansible_core: "",
      python: "",
      callback_digest: "0".repeat(64),
      isolation: "none",
      sandbox_checks: { passed: 0, failed: 0 },
    },
    ...fields,
  };
}

export interface ScriptedRunner extends PlaneClient {
  /** Takes the next attempt and moves it on until it is finalizing. */
  readonly takeOne: () => Promise<AttemptGrant>;
}

export async function joinRunner(stateDir: string): Promise<ScriptedRunner> {
  const client = createPlaneClient({ socketPath: join(stateDir, "runner.sock") });
  const register = aRegister();
  await client.register(register, null);
  return { ...client, takeOne: () => takeOne(client, register.runner_instance_id) };
}

export async function takeOne(
  client: PlaneClient,
  runner_instance_id: string,
): Promise<AttemptGrant> {
  const ask = { runner_instance_id, claim_id: newId("clm"), wait_ms: 10_000 };
  const grant = await client.claim(ask, new AbortController().signal);
  if (grant?.kind !== "attempt") throw new Error("nothing to do");
  for (const to of ["preparing", "running", "finalizing"] as const) {
    await client.move(grant.attempt_id, { epoch: grant.epoch, to });
  }
  return grant;
}

export interface Part {
  readonly file: ArtifactFile;
  readonly bytes: Uint8Array;
}

export function part(path: string, content: string | Uint8Array): Part {
  const bytes = Buffer.from(content);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { bytes, file: { path, kind: "log", sha256, size: bytes.length } };
}

/** Reports these files of a succeeded attempt as complete evidence. */
export function reportOf(grant: AttemptGrant, files: readonly ArtifactFile[]): Completion {
  const completion = aCompletion(grant.epoch);
  const manifest = { ...completion.manifest, attempt_id: grant.attempt_id, files: [...files] };
  return { ...completion, manifest };
}
