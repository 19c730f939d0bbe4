// Every job type as data, for clients and the plane. Browser-safe.
import { checkModeRun, inventoryValidate, playbookRun, roleRun } from "./ansible/declaration.ts";
import type { JobTypeDeclaration } from "./kit/index.ts";

export const JOB_TYPES: ReadonlyMap<string, JobTypeDeclaration> = new Map(
  [playbookRun, checkModeRun, roleRun, inventoryValidate].map((type) => [type.jobType, type]),
);
