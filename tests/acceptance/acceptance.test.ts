import { spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { pathOf, ROUTES } from "@aim/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPlane, type TestPlane } from "../harness/plane.ts";
import { wordsFoundIn } from "../harness/story.ts";
import { SCENARIOS } from "./scenarios.ts";
import { labMissing, openLab } from "./sshd.ts";
import { secretWords, type Verdict } from "./suite.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const SUITE_MS = 280_000;
const missing = labMissing();
if (missing !== null) process.stdout.write(`acceptance is not run: ${missing}\n`);

interface Sum {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly recorded: boolean;
}

interface Outcome {
  readonly status: number;
  readonly verdicts: readonly Verdict[];
  readonly sum: Sum;
}

/** What `aimctl doctor --accept` runs. */
async function runMain(stateDir: string): Promise<Outcome> {
  const child = spawn(process.execPath, [MAIN, "--state", stateDir, "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output, [status]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  const lines = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  return {
    status: Number(status),
    verdicts: lines.slice(0, -1) as Verdict[],
    sum: lines.at(-1) as Sum,
  };
}

async function qualification({ client }: TestPlane): Promise<string> {
  return (await client.capabilities()).execution_progress.qualification;
}

function put(socketPath: string, acceptance: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const { method } = ROUTES.acceptance;
    const headers = { "content-type": "application/json" };
    const call = request({ socketPath, method, path: pathOf("acceptance"), headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    call.once("error", reject);
    call.end(JSON.stringify(acceptance));
  });
}

test.skipIf(missing !== null)("a suite that fails records no acceptance", async () => {
  await using plane = await startPlane({ arguments: ["--no-execution"] });
  const { status, sum } = await runMain(plane.stateDir);
  expect({ status, passed: sum.passed, recorded: sum.recorded }).toEqual({
    status: 1,
    passed: 0,
    recorded: false,
  });
  expect(await qualification(plane)).toBe("controller_acceptance_required");
});

test.skipIf(missing !== null)(
  "the scan finds an address, a port, a user and native words where they stand",
  async () => {
    await using lab = await openLab();
    const { address, ports, user, folder } = lab;
    const planted = [
      { kind: "host_result", host: `${user}@${address}` },
      { counts: { ok: ports.known } },
      { error: { message: `no ${folder}/user: Permission denied (publickey)` } },
    ];
    const found = wordsFoundIn(planted, secretWords(lab));
    expect(found.toSorted()).toEqual(
      [address, String(ports.known), user, folder, "Permission denied"].toSorted(),
    );
  },
);

describe("on a fresh installation", () => {
  let plane: TestPlane | undefined;
  let before = "";
  let foreign = "";
  let outcome: Outcome | undefined;

  beforeAll(async () => {
    if (missing !== null) return;
    plane = await startPlane();
    const { runtime } = await plane.client.capabilities();
    if (runtime === null) throw new Error("no runner");
    before = await qualification(plane);
    const passed = SCENARIOS.length;
    const others = [
      { ansible_core: runtime.ansible_core, callback_digest: "0".repeat(64), passed },
      { ansible_core: "2.19.10", callback_digest: runtime.callback_digest, passed },
    ];
    for (const other of others) expect(await put(plane.socketPath, other)).toBe(200);
    foreign = await qualification(plane);
    outcome = await runMain(plane.stateDir);
  }, SUITE_MS);
  afterAll(() => plane?.[Symbol.asyncDispose]());

  test.skipIf(missing !== null).for(SCENARIOS.map(({ name }) => name))("%s", (name, context) => {
    const verdict = outcome?.verdicts.find(({ scenario }) => scenario === name);
    if (verdict?.outcome === "skipped") context.skip(verdict.problem ?? "");
    expect(verdict).toMatchObject({ outcome: "passed", problem: null });
  });

  test.skipIf(missing !== null)(
    "the controller is accepted once the whole suite passed, and not by another one's acceptance",
    async () => {
      expect(before).toBe("controller_acceptance_required");
      expect(foreign).toBe("controller_acceptance_required");
      expect(outcome).toMatchObject({ status: 0, sum: { failed: 0, recorded: true } });
      if (plane === undefined) throw new Error("no plane");
      expect(await qualification(plane)).toBe("controller_accepted");
    },
  );
});
