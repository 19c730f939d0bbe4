import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { mkdirSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AttemptGrant, Prepared } from "@aim/contract";
import { newId } from "../../plane/base/ids.ts";
import type { PlaneClient } from "../../runner/plane-client.ts";
import { makeCertificates } from "../harness/certificates.ts";
import { runRequest, until } from "../harness/plane.ts";
import { startRunner } from "../harness/runner-process.ts";
import {
  aRegister,
  executeAll,
  part,
  prepareAll,
  reportOf,
  takeOne,
} from "../harness/scripted-runner.ts";
import { outcomesOf } from "../harness/story.ts";
import { enrol, machineOf, runAimd, startRemotePlane, tokensOf } from "./remote-plane.ts";
import type { RemotePlane } from "./remote-plane.ts";

const AIMD = fileURLToPath(new URL("../../plane/main.ts", import.meta.url));
const HOUR = 3_600_000;
const unauthenticated = { code: "unauthenticated" };

let plane: RemotePlane;
let prepared: Prepared[];

beforeAll(async () => {
  plane = await startRemotePlane();
  prepared = await prepareAll(
    plane,
    ["one", "two"].map((playbook) => ({ customer: "acme", playbook, hosts: ["one"] })),
  );
});
afterAll(() => plane[Symbol.asyncDispose]());

function nextPrepared(): Prepared {
  const next = prepared.pop();
  if (next === undefined) throw new Error("nothing is prepared any more");
  return next;
}

/** Tokens as this plane makes them, at another time. */
function tokensAt(now: number) {
  return tokensOf(plane.stateDir, now);
}

function flipOneBit(token: string): string {
  const bytes = Buffer.from(token);
  const at = bytes.length - 10;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes.toString();
}

test("a runner on another machine carries out a playbook over HTTPS and ends when it is told to", async () => {
  const machine = machineOf(plane, plane.tokenFor("depot"));
  const runner = startRunner(machine.arguments);
  try {
    await until(60_000, async () => (await plane.client.capabilities()).runtime_ready);
    const request = { customer: "acme", playbook: "one", hosts: ["one"], check: true };
    const { result, events } = await runRequest(plane.client, request);
    expect(result).toMatchObject({ evidence: "complete", kill_confirmed: true });
    expect(result.journal.lost).toBe(0);
    expect(events.length).toBeGreaterThan(0);
    expect(outcomesOf(result)).toHaveLength(1);
    runner.process.kill("SIGTERM");
    expect(await runner.ended).toBe(0);
  } finally {
    runner.process.kill("SIGKILL");
  }
});

describe("a token", () => {
  test("is all that the command prints, and lets in while the plane runs", async () => {
    const only = ["--job-types", "ansible.check_mode.run", "--ttl-s", "60"];
    const printed = runAimd([
      "runner-token",
      "--state",
      plane.stateDir,
      "--name",
      "depot",
      ...only,
    ]);
    expect(printed).toMatch(/^aim_enr_[\w-]+\.[\w-]+\n$/);
    const token = printed.trim();
    const jobTypes = ["ansible.check_mode.run"];
    expect(tokensAt(Date.now()).readEnrolment(token)).toEqual({ name: "depot", jobTypes });
    expect(() => tokensAt(Date.now() + 60_000).readEnrolment(token)).toThrow();
    expect((await enrol(plane, token)).registered.session).not.toBeNull();
  });

  test("lets in while it is whole, of the right kind and not over", async () => {
    const good = plane.tokenFor("depot");
    const over = tokensAt(Date.now() - 2 * HOUR).enrol({ name: "depot", jobTypes: null }, HOUR);
    const { token: session } = await enrol(plane, good);
    const bare = plane.clientFor(() => null);
    for (const token of [null, "", "aim_enr_", over, flipOneBit(good), session]) {
      await expect(bare.register(aRegister(), token)).rejects.toMatchObject(unauthenticated);
    }
  });

  test("gives no job type that it does not name", async () => {
    const limited = await enrol(plane, plane.tokenFor("p", ["ansible.check_mode.run"]));
    const result = executeAll(plane.client, nextPrepared());
    const ask = { runner_instance_id: limited.id, claim_id: newId("clm"), wait_ms: 0 };
    await until(5_000, async () => (await plane.client.runs())[0]?.state === "queued");
    expect(await limited.claim(ask, new AbortController().signal)).toBeNull();
    const none = aRegister({ job_types: ["ansible.playbook.run"] });
    const enrolment = plane.tokenFor("p", ["ansible.check_mode.run"]);
    await expect(limited.register(none, enrolment)).rejects.toMatchObject({
      code: "invalid_request",
      at: "/job_types",
    });
    const [queued] = await plane.client.runs();
    await plane.client.cancel(queued?.run_id ?? "");
    expect((await result).state).toBe("cancelled");
  });
});

/** Every call that a holder makes for its attempt, and what a runner does for itself. */
function callsFor({ attempt_id: id, epoch }: AttemptGrant) {
  const bytes = Buffer.from("x");
  const { sha256 } = part("x", "x").file;
  const beat = { phase: "stopping", last_event_sequence: 0, events_lost: 0 } as const;
  return {
    heartbeat: (as) => as.heartbeat(id, { epoch, seq: 1, ...beat }),
    move: (as) => as.move(id, { epoch, to: "finalizing" }),
    events: (as) => as.events(id, { epoch, events: [], lost: 9 }),
    take: (as) => as.takeCredentials(id, epoch),
    upload: (as) => as.upload(id, { sha256, epoch, bytes, from: 0, total: 1 }),
    complete: (as) => as.complete(id, reportOf({ attempt_id: id, epoch } as AttemptGrant, [])),
  } satisfies Record<string, (as: PlaneClient) => Promise<unknown>>;
}

test("an attempt is its holder's alone: nobody else touches it, whatever token they bring", async () => {
  const holder = await enrol(plane, plane.tokenFor("holder"));
  const other = await enrol(plane, plane.tokenFor("other"));
  const result = executeAll(plane.client, nextPrepared());
  const grant = await takeOne(holder, holder.id);
  const calls = Object.values(callsFor(grant));
  const before = await plane.client.status(grant.attempt_id);

  for (const call of calls) await expect(call(other)).rejects.toMatchObject({ code: "not_found" });
  const past = tokensAt(Date.now() - HOUR);
  const over = past.open({ name: "holder", jobTypes: null, runner: holder.id }).token;
  for (const token of [null, over, flipOneBit(holder.token), plane.tokenFor("holder")]) {
    const bearer = plane.clientFor(() => token);
    for (const call of calls) await expect(call(bearer)).rejects.toMatchObject(unauthenticated);
    const ask = { runner_instance_id: holder.id, claim_id: newId("clm"), wait_ms: 0 };
    const signal = new AbortController().signal;
    await expect(bearer.claim(ask, signal)).rejects.toMatchObject(unauthenticated);
  }
  const named = { runner_instance_id: holder.id, claim_id: grant.attempt_id, wait_ms: 0 };
  await expect(other.claim(named, new AbortController().signal)).rejects.toMatchObject(
    unauthenticated,
  );
  const stranger = aRegister({ runner_instance_id: holder.id });
  await expect(other.register(stranger, other.token)).rejects.toMatchObject(unauthenticated);

  expect(await plane.client.status(grant.attempt_id)).toEqual(before);
  expect(await holder.takeCredentials(grant.attempt_id, grant.epoch)).toEqual({});
  const { file, bytes } = part("logs/stdout.log", "from afar");
  const chunk = { sha256: file.sha256, epoch: grant.epoch, bytes, from: 0, total: bytes.length };
  await holder.upload(grant.attempt_id, chunk);
  await holder.complete(grant.attempt_id, reportOf(grant, [file]));
  expect(await result).toMatchObject({ state: "succeeded", evidence: "complete" });
});

test("a session is renewed with itself, for the same runner only", async () => {
  const runner = await enrol(plane, plane.tokenFor("depot"));
  expect(runner.registered.session?.renew_after_ms).toBeGreaterThan(0);
  const again = aRegister({ runner_instance_id: runner.id });
  const { session } = await runner.register(again, runner.token);
  const renewed = plane.clientFor(() => session?.token ?? null);
  const ask = { runner_instance_id: runner.id, claim_id: newId("clm"), wait_ms: 0 };
  expect(await renewed.claim(ask, new AbortController().signal)).toBeNull();
  await expect(runner.register(aRegister(), runner.token)).rejects.toMatchObject(unauthenticated);
});

test("a runner says why it is not let in, and takes the token that replaces the old one", async () => {
  const over = tokensAt(Date.now() - 2 * HOUR).enrol({ name: "late", jobTypes: null }, HOUR);
  const machine = machineOf(plane, over);
  const runner = startRunner(machine.arguments);
  try {
    await until(60_000, () => runner.logText().includes("not_registered:unauthenticated"));
    writeFileSync(machine.tokenFile, plane.tokenFor("late"));
    await until(30_000, () => runner.logText().includes('"registered"'));
    runner.process.kill("SIGTERM");
    expect(await runner.ended).toBe(0);
  } finally {
    runner.process.kill("SIGKILL");
  }
});

test("a plane whose certificate another authority made is not spoken to", async () => {
  const folder = join(plane.stateDir, "..", "other-authority");
  mkdirSync(folder);
  const { ca } = makeCertificates(folder);
  const client = plane.clientFor(() => null, ca);
  await expect(client.register(aRegister(), plane.tokenFor("depot"))).rejects.toThrow(
    /certificate/,
  );
});

test("a runner does not start without TLS", async () => {
  const { tokenFile } = machineOf(plane, "unused");
  const runner = startRunner(["--plane", "http://127.0.0.1:1", "--token-file", tokenFile]);
  expect(await runner.ended).toBe(64);
  expect(runner.logText()).toMatch(/^aim-runner: --plane takes https/);
});

test("a plane does not start with a half of what TLS needs", () => {
  const unused = join(plane.stateDir, "..", "unused");
  const args = ["serve", "--state", unused, "--runner-listen", "127.0.0.1:0"];
  const done = spawnSync(process.execPath, [AIMD, ...args], { encoding: "utf8" });
  expect(done).toMatchObject({ status: 64, stdout: "" });
  expect(done.stderr).toMatch(/^aimd: --runner-listen/);
});
