// `aimctl doctor`: each thing that a run needs, whether it is so, and what to do where it is not.
import { ANSIBLE_CORE_VERSION, PRODUCT_VERSION, type Capabilities } from "@aim/contract";
import { createClient } from "@aim/sdk";
import { statSync } from "node:fs";
import { requireLocal } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { ensurePlane, lastLogCodes, runAcceptance, stateDirFault } from "../personal-plane.ts";
import { visible } from "../render/escape.ts";
import { painter, type Paint } from "../render/style.ts";
import { awaitRunner } from "../run/await-runner.ts";
import {
  places,
  wantsColor,
  type ColorChoice,
  type GlobalFlags,
  type Places,
} from "../settings.ts";

export interface DoctorFlags extends GlobalFlags {
  readonly accept?: boolean;
  readonly start?: boolean;
  readonly color: ColorChoice;
}

interface Check {
  readonly passed: boolean;
  readonly what: string;
  /** What to do, where it did not pass. */
  readonly remedy: string;
  /** The status of the command where it did not pass. */
  readonly exit: ExitCode;
}

const NODE_MINIMUM = [24, 15] as const;

export async function doctor(flags: DoctorFlags): Promise<ExitCode> {
  requireLocal(flags);
  const where = places(flags);
  const paint = painter(wantsColor(flags.color, process.stdout));
  const checks: Check[] = [];
  const note = (check: Check) => {
    checks.push(check);
    process.stdout.write(`${checkLine(check, paint)}\n`);
  };
  note(nodeCheck(process.versions.node));
  const started = await startWhereAsked(where, flags);
  note(stateCheck(where.stateDir));
  note(socketCheck(where.socketPath));
  note(started ?? (await answerCheck(where)));
  if (checks.at(-1)?.passed === true) {
    const client = createClient({ socketPath: where.socketPath });
    if (flags.start === true || flags.accept === true) await awaitRunner(client, () => {});
    for (const check of capabilityChecks(await client.capabilities(), runnerWords(where))) {
      note(check);
    }
  }
  if (flags.accept === true) note(await acceptanceCheck(where));
  const failed = checks.filter((check) => !check.passed).map((check) => check.exit);
  return failed.includes(EXIT.unavailable) ? EXIT.unavailable : (failed[0] ?? EXIT.ok);
}

function checkLine({ passed, what, remedy }: Check, paint: Paint): string {
  return passed ? `${paint("green", "✓")} ${what}` : `${paint("red", "✕")} ${what} ${remedy}`;
}

/** A failed start is a check that did not pass; null where there is nothing to tell. */
async function startWhereAsked(where: Places, flags: DoctorFlags): Promise<Check | null> {
  if (flags.start !== true && flags.accept !== true) return null;
  try {
    await ensurePlane(where);
    return null;
  } catch (error) {
    if (!(error instanceof CliFault)) throw error;
    return {
      passed: false,
      what: "Plane does not answer.",
      remedy: error.message,
      exit: error.exitCode,
    };
  }
}

function nodeCheck(version: string): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const passed = major > NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor >= NODE_MINIMUM[1]);
  return {
    passed,
    what: `Node.js ${version}.`,
    remedy: `Node.js ${NODE_MINIMUM.join(".")} or newer is needed: npm run setup brings one.`,
    exit: EXIT.other,
  };
}

function stateCheck(stateDir: string): Check {
  const fault = stateDirFault(stateDir);
  const passed = fault === null;
  return {
    passed,
    what: passed ? `State folder ${visible(stateDir)} is yours alone.` : fault,
    remedy: "aimctl run creates a fresh one where none exists.",
    exit: EXIT.other,
  };
}

function socketCheck(socketPath: string): Check {
  const stats = statSync(socketPath, { throwIfNoEntry: false });
  const passed = stats?.isSocket() === true && (stats.mode & 0o007) === 0;
  const found = stats?.isSocket() === true ? "is open to every user." : "is not there.";
  return {
    passed,
    what: passed
      ? "Socket is there and closed to other users."
      : `Socket ${visible(socketPath)} ${found}`,
    remedy: "Start a plane with aimctl doctor --start or aimctl run.",
    exit: EXIT.unavailable,
  };
}

async function answerCheck(where: Places): Promise<Check> {
  const passed = await createClient({ socketPath: where.socketPath }).health();
  return {
    passed,
    what: passed ? "Plane answers." : "Plane does not answer.",
    remedy: "Start one with aimctl doctor --start or aimctl run.",
    exit: EXIT.unavailable,
  };
}

/** The newest codes in the log of a plane of ours; another's log is not ours to look for. */
function runnerWords(where: Places): string {
  const codes = where.socketGiven ? [] : lastLogCodes(where.stateDir);
  return codes.length === 0 ? "" : ` (${codes.join(", ")})`;
}

function capabilityChecks(found: Capabilities, logWords: string): Check[] {
  const { runtime } = found;
  const checks: Check[] = [
    {
      passed: found.version === PRODUCT_VERSION,
      what: `Plane has version ${visible(found.version)}, aimctl ${PRODUCT_VERSION}.`,
      remedy: "End the plane and start it again with the same version.",
      exit: EXIT.other,
    },
    {
      passed: found.enabled,
      what: found.enabled ? "Execution is switched on." : "Execution is switched off.",
      remedy: "An administrator can switch it on.",
      exit: EXIT.notPermitted,
    },
    {
      passed: found.runtime_ready,
      what: found.runtime_ready ? "A runner is ready." : "No runner is ready.",
      remedy: `Why stands in the log of the plane, aimd.log in the state folder${logWords}.`,
      exit: EXIT.unavailable,
    },
  ];
  if (runtime !== null) checks.push(...runtimeChecks(found, runtime));
  return checks;
}

function runtimeChecks(
  found: Capabilities,
  runtime: NonNullable<Capabilities["runtime"]>,
): Check[] {
  const { passed, failed } = runtime.sandbox_checks;
  const accepted = found.execution_progress.qualification === "controller_accepted";
  return [
    {
      passed: runtime.ansible_core === ANSIBLE_CORE_VERSION,
      what: `ansible-core ${visible(runtime.ansible_core)} on Python ${visible(runtime.python)}.`,
      remedy: `AIM is made for ${ANSIBLE_CORE_VERSION}: npm run setup installs it.`,
      exit: EXIT.other,
    },
    {
      passed: failed === 0 && passed > 0,
      what: `Sandbox (${visible(runtime.isolation)}): ${passed} checks passed, ${failed} failed.`,
      remedy: "The failed ones are in aimd.log; most need bubblewrap and user namespaces.",
      exit: EXIT.unavailable,
    },
    {
      passed: true,
      what: accepted
        ? "Controller is accepted: the acceptance suite passed for exactly this one."
        : "Controller is not accepted yet; aimctl doctor --accept runs the suite.",
      remedy: "",
      exit: EXIT.other,
    },
  ];
}

async function acceptanceCheck(where: Places): Promise<Check> {
  const exit = await runAcceptance(where);
  if (exit === null) {
    return {
      passed: false,
      what: "The acceptance suite is not part of this installation.",
      remedy: "Run it from a clone of the source.",
      exit: EXIT.unavailable,
    };
  }
  return {
    passed: exit === 0,
    what: exit === 0 ? "Acceptance suite passed." : `Acceptance suite failed with status ${exit}.`,
    remedy: "What failed is named above.",
    exit: EXIT.other,
  };
}
