// Runs the acceptance suite against the plane of a state folder and, when all of it passed, has the plane write that down.
//   node tests/acceptance/main.ts --state DIR [--json]
import { request } from "node:http";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { pathOf, ROUTES, type Acceptance } from "@aim/contract";
import { createClient } from "@aim/sdk";
import { labMissing } from "./sshd.ts";
import { runSuite, type Verdict } from "./suite.ts";

const SIGNS = { passed: "✓", failed: "✕", skipped: "–" } as const;

function record(socketPath: string, acceptance: Acceptance): Promise<boolean> {
  const body = JSON.stringify(acceptance);
  const { method } = ROUTES.acceptance;
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, method, path: pathOf("acceptance"), headers }, (answer) => {
      answer.resume();
      answer.once("end", () => resolve(answer.statusCode === 200));
    });
    call.once("error", reject);
    call.end(body);
  });
}

function tellLine({ scenario, outcome, ms, problem }: Verdict): void {
  const why = problem === null ? "" : `: ${problem}`;
  console.log(`${SIGNS[outcome]} ${scenario} (${(ms / 1000).toFixed(1)} s)${why}`);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { state: { type: "string" }, json: { type: "boolean", default: false } },
  });
  if (values.state === undefined) throw new Error("--state DIR is missing");
  const missing = labMissing();
  if (missing !== null) throw new Error(missing);
  const socketPath = join(values.state, "aimd.sock");
  const client = createClient({ socketPath });
  const { runtime } = await client.capabilities();
  if (runtime === null) throw new Error("no runner is ready");
  const tell = values.json ? (verdict: Verdict) => console.log(JSON.stringify(verdict)) : tellLine;
  const verdicts = await runSuite(client, tell);
  const count = (outcome: Verdict["outcome"]) =>
    verdicts.filter((verdict) => verdict.outcome === outcome).length;
  const passed = count("passed");
  const failed = count("failed");
  const { ansible_core, callback_digest } = runtime;
  const same = (await client.capabilities()).runtime;
  // A controller that was exchanged in between is not the one that passed.
  const unchanged = same?.ansible_core === ansible_core && same.callback_digest === callback_digest;
  const recorded =
    failed === 0 &&
    unchanged &&
    (await record(socketPath, { ansible_core, callback_digest, passed }));
  const sum = { passed, failed, skipped: count("skipped"), recorded };
  console.log(
    values.json
      ? JSON.stringify(sum)
      : `${passed} passed, ${failed} failed, ${sum.skipped} skipped; ansible-core ${ansible_core} ${recorded ? "is accepted" : "is not accepted"}`,
  );
  return recorded ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`acceptance: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
