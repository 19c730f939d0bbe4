import { join } from "node:path";
import { expect, test } from "vitest";
import type { AttemptGrant } from "@aim/contract";
import { createPlaneClient } from "../../runner/plane-client.ts";
import { startRun } from "../harness/background.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { runRequest, startPlane, until } from "../harness/plane.ts";
import { pidsWith } from "../harness/processes.ts";
import { startRunner } from "../harness/runner-process.ts";
import { part, reportOf } from "../harness/scripted-runner.ts";
import { QUICK, stubborn } from "./stubborn.ts";

const LEASE_S = 3;
const EPOCH = 1;

test("a runner that is stopped past its lease has lost its run: the work is dead in time, and no later call counts", async () => {
  await using plane = await startPlane({
    arguments: ["--no-runner", "--lease-ttl-s", String(LEASE_S)],
    runner: false,
  });
  const runner = startRunner(["--state", plane.stateDir]);
  try {
    await until(60_000, async () => (await plane.client.capabilities()).runtime_ready);
    const made = stubborn();
    const site = { playbook: "site.yml", grace_s: 1 };
    const write = (customer: string, files: Readonly<Record<string, string>>) => {
      writeCustomer(plane.catalogDir, { customer, playbooks: { site }, files });
      return { customer, playbook: "site", hosts: ["one"] };
    };
    const run = await startRun(plane, write("stubborn", made.files));
    await until(30_000, () => pidsWith(made.mark).length >= made.processes);

    runner.process.kill("SIGSTOP");
    const stopped = performance.now();
    await until((LEASE_S + 2) * 1000, () => pidsWith(made.mark).length === 0);
    expect(performance.now() - stopped).toBeLessThan((LEASE_S + 2) * 1000);
    const result = await run.result;
    expect(result).toMatchObject({ state: "lost", effect: "unknown", error: { code: "lost" } });
    const before = await plane.client.status(run.runId);

    // What the stopped runner would still say once it goes on, said in its place first.
    const old = createPlaneClient({ socketPath: join(plane.stateDir, "runner.sock") });
    const grant = { attempt_id: run.runId, epoch: EPOCH } as AttemptGrant;
    const { file, bytes } = part("logs/stdout.log", "too late");
    const beat = { phase: "running", last_event_sequence: 1, events_lost: 0 } as const;
    const chunk = { sha256: file.sha256, epoch: EPOCH, bytes, from: 0, total: bytes.length };
    const events = run.events.slice(-1).map((last) => ({ ...last, sequence: last.sequence + 1 }));
    const calls = [
      () => old.heartbeat(run.runId, { epoch: EPOCH, seq: 1_000, ...beat }),
      () => old.move(run.runId, { epoch: EPOCH, to: "finalizing" }),
      () => old.events(run.runId, { epoch: EPOCH, events, lost: 0 }),
      () => old.takeCredentials(run.runId, EPOCH),
      () => old.upload(run.runId, chunk),
      () => old.complete(run.runId, reportOf(grant, [])),
    ];
    const refused = /^(?:lease_lost|terminal_conflict|state_conflict)$/;
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: expect.stringMatching(refused) });
    }
    runner.process.kill("SIGCONT");
    // The same runner goes on with what it may: its next run tells that it has come to itself.
    expect((await runRequest(plane.client, write("quick", QUICK))).result.state).toBe("succeeded");
    for (const call of calls) await expect(call()).rejects.toThrow();
    expect(await plane.client.status(run.runId)).toEqual(before);
    expect(pidsWith(made.mark)).toEqual([]);
    runner.process.kill("SIGTERM");
    expect(await runner.ended).toBe(0);
  } finally {
    runner.process.kill("SIGKILL");
  }
});
