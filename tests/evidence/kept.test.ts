import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { ArtifactFile, AttemptGrant, RunRequest } from "@aim/contract";
import { aimctl } from "../../clients/cli/testing/run-aimctl.ts";
import { newId } from "../../plane/base/ids.ts";
import { createPlaneClient } from "../../runner/plane-client.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { startPlane, until, type TestPlane } from "../harness/plane.ts";
import { aCompletion } from "../store/samples.ts";

const RUNNER = fileURLToPath(new URL("../../runner/main.ts", import.meta.url));

/** Prepares with a real runner that is gone before anything is executed. */
async function prepareAll(plane: TestPlane, requests: readonly RunRequest[]) {
  writeCustomer(plane.catalogDir, {
    playbooks: { site: { playbook: "site.yml" } },
    files: {
      "inventory.ini": "one ansible_connection=local\n",
      "site.yml": "- hosts: all\n  gather_facts: false\n  tasks: []\n",
    },
  });
  const runner = spawn(process.execPath, [RUNNER, "--state", plane.stateDir], { stdio: "ignore" });
  const ended = new Promise((resolve) => runner.once("exit", resolve));
  try {
    await until(60_000, async () => (await plane.client.capabilities()).runtime_ready);
    const prepared = [];
    for (const request of requests) prepared.push(await plane.client.prepare(request));
    return prepared;
  } finally {
    runner.kill("SIGTERM");
    await ended;
  }
}

/** A runner of the test's own, which says what it likes. */
async function joinRunner(plane: TestPlane) {
  const client = createPlaneClient(join(plane.stateDir, "runner.sock"));
  const runner_instance_id = newId("rnr");
  await client.register({
    runner_instance_id,
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
  });
  const claim = async (): Promise<AttemptGrant> => {
    const ask = { runner_instance_id, claim_id: newId("clm"), wait_ms: 10_000 };
    const grant = await client.claim(ask, new AbortController().signal);
    if (grant?.kind !== "attempt") throw new Error("nothing to do");
    for (const to of ["preparing", "running", "finalizing"] as const) {
      await client.move(grant.attempt_id, { epoch: grant.epoch, to });
    }
    return grant;
  };
  return { ...client, claim };
}

function part(path: string, text: string): { file: ArtifactFile; bytes: Uint8Array } {
  const bytes = Buffer.from(text);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { bytes, file: { path, kind: "log", sha256, size: bytes.length } };
}

function report(grant: AttemptGrant, files: readonly ArtifactFile[], attempt = grant.attempt_id) {
  const completion = aCompletion(grant.epoch);
  const manifest = { ...completion.manifest, attempt_id: attempt, files: [...files] };
  return { ...completion, manifest };
}

test("the plane keeps no word of a runner's about evidence that is not there", async () => {
  await using plane = await startPlane({ arguments: ["--no-runner"], runner: false });
  const request = { customer: "acme", playbook: "site", hosts: ["one"] };
  const prepared = await prepareAll(plane, [request, { ...request, check: true }]);
  const runner = await joinRunner(plane);
  const results = prepared.map(async ({ request: normalized, revision }) => {
    for await (const line of plane.client.execute({ request: normalized, revision })) {
      if (line.type === "response") return line.response;
    }
    throw new Error("no result");
  });
  const stored = part("logs/stdout.log", "stored");
  const missing = part("logs/stderr.log", "never sent");
  const short = { ...part("events.jsonl", "stored").file, size: 5 };

  const first = await runner.claim();
  const { attempt_id: id, epoch } = first;
  const send = ({ file, bytes }: typeof stored) =>
    runner.upload(id, { sha256: file.sha256, epoch, bytes });
  await expect(send({ file: missing.file, bytes: stored.bytes })).rejects.toMatchObject({
    code: "digest_mismatch",
  });
  await expect(plane.client.artifact(stored.file)).rejects.toMatchObject({ code: "not_found" });
  await send(stored);
  const foreign = report(first, [stored.file], `run_${"0".repeat(26)}`);
  await expect(runner.complete(id, foreign)).rejects.toMatchObject({ code: "invalid_request" });
  for (const path of ["logs", "logs/stdout.log", "seal.json"]) {
    const clash = report(first, [stored.file, { ...missing.file, path }]);
    await expect(runner.complete(id, clash)).rejects.toMatchObject({ code: "invalid_request" });
  }
  const done = report(first, [stored.file, missing.file, short]);
  expect(await runner.complete(id, done)).toEqual({ state: "succeeded" });
  expect(await runner.complete(id, done)).toEqual({ state: "succeeded" });
  await expect(send(missing)).rejects.toMatchObject({ code: "lease_lost" });

  const second = await runner.claim();
  await runner.complete(second.attempt_id, report(second, [missing.file]));

  const byRun = new Map((await Promise.all(results)).map((result) => [result.run_id, result]));
  expect(byRun.get(id)).toMatchObject({ state: "succeeded", evidence: "partial" });
  expect(byRun.get(second.attempt_id)?.evidence).toBe("none");
  expect((await plane.client.artifacts(id)).evidence).toBe("partial");

  const dir = join(plane.stateDir, "..", "exported");
  const socket = ["--socket", plane.socketPath];
  const exported = await aimctl(["evidence", "export", id, dir, ...socket]);
  const verified = await aimctl(["evidence", "verify", dir]);
  for (const ended of [exported, verified]) {
    expect(ended).toMatchObject({ exit: 1, stderr: "" });
    expect(ended.stdout).toContain("file_missing  events.jsonl");
    expect(ended.stdout).toContain("file_missing  logs/stderr.log");
  }
});
