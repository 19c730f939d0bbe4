import { join } from "node:path";
import { expect, test } from "vitest";
import type { ArtifactFile, AttemptGrant } from "@aim/contract";
import { aimctl } from "../../clients/cli/testing/run-aimctl.ts";
import { startPlane } from "../harness/plane.ts";
import { executeAll, joinRunner, part, prepareAll, reportOf } from "../harness/scripted-runner.ts";

function report(grant: AttemptGrant, files: readonly ArtifactFile[], attempt = grant.attempt_id) {
  const completion = reportOf(grant, files);
  return { ...completion, manifest: { ...completion.manifest, attempt_id: attempt } };
}

test("the plane keeps no word of a runner's about evidence that is not there", async () => {
  await using plane = await startPlane({ arguments: ["--no-runner"], runner: false });
  const request = { customer: "acme", playbook: "site", hosts: ["one"] };
  const prepared = await prepareAll(plane, [request, { ...request, check: true }]);
  const runner = await joinRunner(plane.stateDir);
  const results = prepared.map((one) => executeAll(plane.client, one));
  const stored = part("logs/stdout.log", "stored");
  const missing = part("logs/stderr.log", "never sent");
  const short = { ...part("events.jsonl", "stored").file, size: 5 };

  const first = await runner.takeOne();
  const { attempt_id: id, epoch } = first;
  const send = ({ file, bytes }: typeof stored) =>
    runner.upload(id, { sha256: file.sha256, epoch, bytes, from: 0, total: bytes.length });
  await expect(send({ file: missing.file, bytes: stored.bytes })).rejects.toMatchObject({
    code: "digest_mismatch",
  });
  await expect(plane.client.artifact(id, stored.file)).rejects.toMatchObject({ code: "not_found" });
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

  const second = await runner.takeOne();
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
