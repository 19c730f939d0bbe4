// Ansible: the job types and what carries them out. Knows ansible-core 2.19.11 and nothing of plane or runner.
import type { JobType } from "../kit/index.ts";
import { checkModeRun, inventoryValidate, playbookRun, roleRun } from "./declaration.ts";
import { inspectAnsible } from "./inspect.ts";
import { runAnsible } from "./run.ts";
import { validateInventory } from "./validate.ts";

export const ansibleJobTypes: readonly JobType[] = [
  { ...playbookRun, run: runAnsible, inspect: inspectAnsible },
  { ...checkModeRun, run: runAnsible, inspect: inspectAnsible },
  { ...roleRun, run: runAnsible, inspect: inspectAnsible },
  { ...inventoryValidate, run: validateInventory, inspect: inspectAnsible },
];
