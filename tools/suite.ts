// Every test of the whole: the callback on real Ansible, then plane, runner and clients together.
import { join } from "node:path";
import { npmProgram, pythonProgram, ROOT, runSteps } from "./steps.ts";

runSteps([
  {
    name: "callback on real Ansible",
    command: [pythonProgram("python"), "-m", "pytest"],
    cwd: join(ROOT, "drivers/ansible/callback"),
    loud: true,
  },
  {
    name: "the whole",
    command: [npmProgram("vitest"), "run", "--project", "whole"],
    loud: true,
  },
]);
