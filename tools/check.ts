// Every check that needs no service, quick ones first: format, lint, types, direction, dead code, Python, unit tests.
import { join } from "node:path";
import { npmProgram, pythonProgram, ROOT, runSteps } from "./steps.ts";

const CALLBACK = join(ROOT, "drivers/ansible/callback");
const SANDBOX = join(ROOT, "runner/sandbox");
const PARTS = ["contract", "drivers", "runner", "plane", "clients"];

runSteps([
  { name: "format", command: [npmProgram("oxfmt"), "--check", "."] },
  { name: "lint", command: [npmProgram("oxlint")] },
  { name: "types without a machine", command: [npmProgram("tsc"), "-p", "contract"] },
  { name: "types", command: [npmProgram("tsc"), "-p", "."] },
  {
    name: "direction of imports",
    command: [npmProgram("depcruise"), "--config", ".dependency-cruiser.mjs", ...PARTS],
  },
  { name: "dead code", command: [npmProgram("knip")] },
  { name: "Python lint", command: [pythonProgram("ruff"), "check", CALLBACK, SANDBOX] },
  { name: "Python format", command: [pythonProgram("ruff"), "format", "--check", CALLBACK] },
  { name: "Python types", command: [pythonProgram("mypy"), "."], cwd: CALLBACK },
  {
    name: "unit tests",
    command: [npmProgram("vitest"), "run", "--project", "unit", "--reporter=dot"],
    loud: true,
  },
]);
