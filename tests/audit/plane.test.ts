// The audit of a real plane: written by what happens, exported and verified by aimctl.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { AuditRow } from "@aim/contract";
import { aimctl } from "../../clients/cli/testing/run-aimctl.ts";
import { executeAll, joinRunner, prepareAll, reportOf } from "../harness/scripted-runner.ts";
import { freePort } from "../harness/listener.ts";
import { makeFolder, startPlane, until } from "../harness/plane.ts";
import { INPUTS, SPEC } from "../store/samples.ts";

const CANARY = "canary-5d21";
const NO_RUNNER = { runner: false, arguments: ["--no-runner"] } as const;

test("who prepared, executed, cancelled and drained stands in the audit, and the export is whole", async () => {
  await using plane = await startPlane(NO_RUNNER);
  const folder = makeFolder("export");
  const request = { customer: "acme", playbook: "site", hosts: ["one"] };
  const [prepared] = await prepareAll(plane, [request]);
  if (prepared === undefined) throw new Error("nothing was prepared");
  const runner = await joinRunner(plane.stateDir);
  const executing = executeAll(plane.client, prepared);
  const grant = await runner.takeOne();
  await plane.client.cancel(grant.attempt_id);
  await runner.complete(grant.attempt_id, reportOf(grant, []));
  await executing;
  const [known] = await plane.client.runners();
  await plane.client.drainRunner(known?.runner_instance_id ?? "");
  const rows = await plane.client.audit();
  const told = rows.map(({ action, outcome }) => `${action} ${outcome}`);
  expect(told).toEqual([
    "job.prepare allowed",
    "job.execute allowed",
    "job.cancel allowed",
    "runner.write allowed",
  ]);
  expect(rows[1]).toMatchObject({
    customer: "acme",
    principal: { kind: "local", id: "local" },
    what: { revision: prepared.revision, run_id: grant.attempt_id, job_id: grant.job_id },
  });

  const file = join(folder, "audit.ndjson");
  const at = ["--state", plane.stateDir];
  expect(await aimctl(["audit", "export", file, ...at])).toMatchObject({ exit: 0 });
  const key = join(plane.stateDir, "seal.pub");
  const verified = await aimctl(["audit", "verify", file, "--key", key]);
  expect(verified).toMatchObject({ exit: 0, stdout: "The audit is whole: 4 rows.\n" });
  const shown = await aimctl(["audit", "show", "--output", "json", ...at]);
  expect((JSON.parse(shown.stdout) as AuditRow[]).map(({ position }) => position)).toEqual([
    1, 2, 3, 4,
  ]);

  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace('"job.cancel"', '"job.read"'));
  expect(await aimctl(["audit", "verify", file])).toMatchObject({
    exit: 1,
    stdout: expect.stringMatching(/^hash_mismatch {2}row 3 /),
  });
  writeFileSync(file, text.split("\n").slice(0, 3).join("\n"));
  expect((await aimctl(["audit", "verify", file])).exit).toBe(1);
  writeFileSync(file, `${text.split("\n").slice(0, 3).join("\n")}\n`);
  expect((await aimctl(["audit", "verify", file])).stdout).toMatch(/^head_missing {2}row 4 /);
  rmSync(folder, { recursive: true });
});

test("a stranger on TCP is refused, and that stands in the audit", async () => {
  const address = `127.0.0.1:${await freePort()}`;
  await using plane = await startPlane({
    runner: false,
    arguments: ["--no-runner", "--listen", address],
  });
  const answer = await fetch(`http://${address}/v1/jobs`, {
    headers: { authorization: "Bearer canary-77aa" },
  });
  expect(answer.status).toBe(401);
  await until(5_000, async () => (await plane.client.audit()).length === 1);
  expect(await plane.client.audit()).toMatchObject([
    {
      principal: null,
      action: "job.read",
      outcome: "refused",
      detail: { code: "unauthenticated", route: "jobList" },
    },
  ]);
  expect(plane.logText()).toContain('"code":"unauthenticated"');
  expect(plane.logText()).not.toContain("canary-77aa");
});

test("secrets leave with a row that names their slots, and not without it", async () => {
  await using plane = await startPlane(NO_RUNNER);
  await plane.stop();
  const database = new DatabaseSync(join(plane.stateDir, "aim.sqlite"));
  database.exec(`CREATE TRIGGER no_secrets BEFORE INSERT ON audit WHEN NEW.action = 'runner.work'
    AND (SELECT count(*) FROM attempts) > 1 BEGIN SELECT RAISE(ABORT, 'no'); END`);
  database.close();
  await using again = await startPlane({ ...NO_RUNNER, home: join(plane.stateDir, "..") });
  const { client } = again;
  const bytes = new Uint8Array(Buffer.from("- hosts: all\n"));
  const sha256 = await client.uploadSource(bytes);
  const file = { path: "project/site.yml", sha256, size: bytes.length, executable: false };
  const { bundle_digest } = await client.createBundle({ customer: "acme", files: [file] });
  const runner = await joinRunner(again.stateDir);

  const takeSecrets = async (key: string) => {
    const credentials_id = await client.credentials({ ssh_password: CANARY });
    const spec = {
      ...SPEC,
      idempotency_key: key,
      source: { bundle_digest },
      destructive: true,
      inputs: { ...INPUTS, credential_slots: ["ssh_password"] },
      secrets: { ssh_password: { from: "caller", delivery: "fd" } as const },
    };
    const { job_id } = await client.createJob({ spec, credentials_id });
    const { attempt_id, epoch } = await runner.takeOne();
    return { job_id, attempt_id, taken: runner.takeCredentials(attempt_id, epoch) };
  };

  const first = await takeSecrets("told");
  expect(await first.taken).toEqual({ ssh_password: CANARY });
  const rows = await client.audit();
  expect(rows.at(-1)).toMatchObject({
    action: "runner.work",
    principal: { kind: "runner" },
    what: { job_id: first.job_id, run_id: first.attempt_id },
    detail: { route: "take", slots: ["ssh_password"] },
  });
  expect(JSON.stringify(rows)).not.toContain(CANARY);
  const second = await takeSecrets("untold");
  await expect(second.taken).rejects.toMatchObject({ code: "internal" });
});
