// The job API as a control plane uses it: bundle in, job in, attempts and evidence out.
import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  AcceptedSchema,
  isTerminal,
  JobSchema,
  RunnerSchema,
  UsageSchema,
  type JobSpec,
  type JobView,
} from "@aim/contract";
import { check } from "../../plane/http/check.ts";
import { startPlane, until, type TestPlane } from "../harness/plane.ts";

const FILES = {
  "project/hosts.ini": "one ansible_connection=local\n",
  "project/site.yml": `- name: Look
  hosts: all
  gather_facts: false
  tasks:
    - name: Say hello
      ansible.builtin.ping:
    - name: Fail where it is asked for
      ansible.builtin.command: /bin/false
      changed_when: false
      when: wanted == "failure"
    - name: Wait where it is asked for
      ansible.builtin.command: sleep 600
      changed_when: false
      when: wanted == "wait"
`,
  "project/destroy.yml": `- name: Remove everything
  hosts: all
  gather_facts: false
  tasks:
    - name: Remove it
      ansible.builtin.file:
        path: /nowhere/at/all
        state: absent
`,
};

let plane: TestPlane;
let bundle = "";

beforeAll(async () => {
  plane = await startPlane();
  const files = await Promise.all(
    Object.entries(FILES).map(async ([path, text]) => {
      const bytes = new TextEncoder().encode(text);
      const sha256 = await plane.client.uploadSource(bytes);
      return { path, sha256, size: bytes.length, executable: false };
    }),
  );
  bundle = (await plane.client.createBundle({ customer: "acme", files })).bundle_digest;
});
afterAll(() => plane[Symbol.asyncDispose]());

function spec(key: string, wanted = "success", fields: Partial<JobSpec> = {}): JobSpec {
  return {
    api_version: "1.0",
    job_type: "ansible.playbook.run",
    idempotency_key: key,
    customer: "acme",
    operation_id: "op-1",
    inputs: {
      playbook: "project/site.yml",
      inventory: ["project/hosts.ini"],
      hosts: ["one"],
      variables: { wanted },
      progress_mode: "detail",
      credential_slots: [],
      tags: [],
      skip_tags: [],
      forks: 5,
      user: null,
      become: false,
      operation_result: null,
    },
    source: { bundle_digest: bundle },
    secrets: {},
    destructive: false,
    timeout_s: 60,
    grace_s: 5,
    runner_requirements: {
      runner_kind: "process",
      network: [],
      memory_bytes: 2 ** 31,
      disk_bytes: 2 ** 30,
      pids: 1_000,
    },
    diagnostics: "off",
    ...fields,
  };
}

async function ended(jobId: string): Promise<JobView> {
  await until(60_000, async () => {
    const state = (await plane.client.job(jobId)).attempts.at(-1)?.state;
    return state !== undefined && isTerminal(state);
  });
  return plane.client.job(jobId);
}

interface Raw {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

function post(path: string, body: unknown): Promise<Raw> {
  const bytes = Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": bytes.length };
    const { socketPath } = plane;
    const outgoing = request({ socketPath, method: "POST", path, headers }, (incoming) => {
      const pieces: Buffer[] = [];
      incoming.on("data", (piece: Buffer) => pieces.push(piece));
      incoming.on("end", () =>
        resolve({
          status: incoming.statusCode ?? 0,
          type: incoming.headers["content-type"] ?? "",
          text: Buffer.concat(pieces).toString(),
        }),
      );
    });
    outgoing.on("error", reject);
    outgoing.end(bytes);
  });
}

describe("a job", () => {
  test("is accepted once for its key, answered the same for ever, and ends with evidence", async () => {
    const first = await post("/v1/jobs", { spec: spec("once") });
    expect(first).toMatchObject({ status: 201, type: "application/json; charset=utf-8" });
    const accepted = check(AcceptedSchema, JSON.parse(first.text));
    const job = check(JobSchema, await ended(accepted.job_id));
    expect(job).toMatchObject({
      customer: "acme",
      operation_id: "op-1",
      attempt_count: 1,
      attempts: [
        { state: "succeeded", evidence: "complete", retry: { retryable: "no" }, epoch: 1 },
      ],
    });
    expect(await post("/v1/jobs", { spec: spec("once") })).toEqual(first);
    const other = await post("/v1/jobs", { spec: spec("once", "failure") });
    expect(other).toMatchObject({ status: 422, type: "application/problem+json; charset=utf-8" });
    expect(JSON.parse(other.text)).toMatchObject({
      type: "urn:aim:problem:idempotency_mismatch",
      code: "idempotency_mismatch",
      status: 422,
    });
    const usage = await plane.client.usage();
    const mine = usage.filter(({ run_id }) => run_id === accepted.run_id);
    expect(mine).toHaveLength(1);
    expect(check(UsageSchema, mine[0])).toMatchObject({
      job_id: accepted.job_id,
      runner_kind: "process",
      state: "succeeded",
    });
    expect(mine[0]?.attempt_ms).toBeGreaterThan(0);
    expect(mine[0]?.artifact_bytes).toBeGreaterThan(0);
  });

  test("that failed is tried again only by an attempt of its own, once somebody has looked", async () => {
    const { job_id: jobId } = await plane.client.createJob({ spec: spec("again", "failure") });
    const failed = await ended(jobId);
    expect(failed.attempts[0]).toMatchObject({ state: "failed", retry: { retryable: "ask" } });
    const ask = plane.client.retryJob(jobId, { idempotency_key: "r1" });
    await expect(ask).rejects.toMatchObject({ code: "retry_unconfirmed" });
    const wish = { idempotency_key: "r1", confirm: true };
    const retried = await plane.client.retryJob(jobId, wish);
    expect(retried).toMatchObject({ job_id: jobId, number: 2 });
    const job = await ended(jobId);
    expect(job.attempts.map(({ number, state }) => [number, state])).toEqual([
      [1, "failed"],
      [2, "failed"],
    ]);
    expect(await plane.client.retryJob(jobId, wish)).toEqual(retried);
    expect((await plane.client.job(jobId)).attempt_count).toBe(2);
  });

  test("is cancelled by its id, and what nobody ran again is not run again", async () => {
    const { job_id: jobId, run_id: runId } = await plane.client.createJob({
      spec: spec("stop", "wait"),
    });
    for await (const line of plane.client.follow(runId)) {
      const waits = line.type === "event" && line.event.kind === "task_started";
      if (waits && line.event.label === "Wait where it is asked for") break;
    }
    await plane.client.cancelJob(jobId);
    const job = await ended(jobId);
    expect(job.attempts[0]).toMatchObject({ state: "cancelled", kill_confirmed: true });
    await delay(200);
    expect((await plane.client.job(jobId)).attempt_count).toBe(1);
    const listed = await plane.client.jobs({ state: "cancelled" });
    expect(listed.map(({ job_id }) => job_id)).toContain(jobId);
    expect(listed[0]?.attempts[0]?.result).toBeNull();
  });

  const inputs = () => spec("x").inputs;
  test.for([
    ["job_type_unknown", "/spec/job_type", () => ({ job_type: "ansible.shell.run" })],
    ["invalid_inputs", "/spec/inputs/shell", () => ({ inputs: { ...inputs(), shell: "id" } })],
    [
      "secret_in_inputs",
      "/spec/inputs/variables/db_password",
      () => ({
        inputs: { ...inputs(), variables: { wanted: "x", db_password: "hunter2hunter2" } },
      }),
    ],
    ["no_hosts", "/spec/inputs/hosts", () => ({ inputs: { ...inputs(), hosts: [] } })],
    [
      "duplicate_host",
      "/spec/inputs/hosts/1",
      () => ({
        inputs: { ...inputs(), hosts: ["one", "one"] },
      }),
    ],
    [
      "bundle_unknown",
      "/spec/source/bundle_digest",
      () => ({
        source: { bundle_digest: "0".repeat(64) },
      }),
    ],
    [
      "credential_unknown",
      "/spec/secrets/ssh_password",
      () => ({
        secrets: { ssh_password: { from: "caller", delivery: "fd" } as const },
      }),
    ],
    [
      "secrets_unsupported",
      "/spec/secrets/ssh_password",
      () => ({
        inputs: { ...inputs(), credential_slots: ["ssh_password"] },
        secrets: { ssh_password: { from: "vault://kv/a#b", delivery: "fd" } as const },
      }),
    ],
    [
      "destructive_not_marked",
      undefined,
      () => ({
        inputs: { ...inputs(), playbook: "project/destroy.yml", variables: {} },
      }),
    ],
  ] as const)("is refused with %s and leaves nothing", async ([code, at, fields]) => {
    const before = (await plane.client.jobs({ limit: 200 })).length;
    const asked = plane.client.createJob({ spec: spec(`refused ${code}`, "success", fields()) });
    const refusal = await asked.catch((error: unknown) => error);
    expect(refusal).toMatchObject(at === undefined ? { code } : { code, at });
    expect(await plane.client.jobs({ limit: 200 })).toHaveLength(before);
  });

  test("that says that it destroys is taken at its word", async () => {
    const { inputs: plain } = spec("x");
    const { job_id: jobId } = await plane.client.createJob({
      spec: spec("destroys", "success", {
        destructive: true,
        inputs: { ...plain, playbook: "project/destroy.yml", variables: {} },
      }),
    });
    expect((await ended(jobId)).attempts[0]?.state).toBe("succeeded");
  });
});

describe("a bundle", () => {
  const file = { sha256: "1".repeat(64), size: 1, executable: false };
  test.for([
    ["bundle_incomplete", [{ ...file, path: "project/a" }]],
    ["content_unsupported", [{ ...file, path: "project/../a" }]],
    ["content_unsupported", [{ ...file, path: "etc/passwd" }]],
    ["content_unsupported", [{ ...file, path: "project//a" }]],
    ["content_too_large", [{ ...file, path: `project/${"a".repeat(1_025)}` }]],
    ["content_too_large", [{ ...file, path: "project/a", size: 64 * 1024 ** 2 + 1 }]],
  ] as const)("is refused with %s", async ([code, files]) => {
    const asked = plane.client.createBundle({ customer: "acme", files: [...files] });
    await expect(asked).rejects.toMatchObject({ code });
  });

  test("holds no file that is also a folder, and no file twice", async () => {
    const sha256 = await plane.client.uploadSource(new TextEncoder().encode("x"));
    const kept = { ...file, sha256 };
    const both = ["project/a", "project/a-b", "project/a/c"].map((path) => ({ ...kept, path }));
    const twice = [
      { ...kept, path: "project/a" },
      { ...kept, path: "project/a" },
    ];
    for (const files of [both, twice]) {
      const asked = plane.client.createBundle({ customer: "acme", files });
      await expect(asked).rejects.toMatchObject({ code: "content_unsupported" });
    }
  });

  test("takes no bytes under another digest", async () => {
    const wrong = await new Promise<number>((resolve, reject) => {
      const path = `/v1/blobs/${"0".repeat(64)}`;
      const headers = { "content-type": "application/octet-stream" };
      const { socketPath } = plane;
      request({ socketPath, method: "PUT", path, headers }, (incoming) => {
        incoming.resume();
        resolve(incoming.statusCode ?? 0);
      })
        .on("error", reject)
        .end("x");
    });
    expect(wrong).toBe(422);
  });
});

test("a runner is listed with what it holds; drained, it ends and the next one takes over", async () => {
  const [runner] = await plane.client.runners();
  expect(check(RunnerSchema, runner)).toMatchObject({ name: "local", state: "ready", slots: 4 });
  const id = runner?.runner_instance_id ?? "";
  await plane.client.drainRunner(id);
  await until(60_000, async () => {
    const found = await plane.client.runners();
    const states = new Map(found.map((one) => [one.runner_instance_id, one.state]));
    return states.get(id) === "draining" && [...states.values()].includes("ready");
  });
  const { job_id: jobId } = await plane.client.createJob({ spec: spec("after the drain") });
  const job = await ended(jobId);
  expect(job.attempts[0]?.state).toBe("succeeded");
  expect(job.attempts[0]?.runner_instance_id).not.toBe(id);
});
