// Every driver, for runners.
import { ansibleJobTypes } from "./ansible/index.ts";
import type { JobType } from "./kit/index.ts";

export const DRIVERS: ReadonlyMap<string, JobType> = new Map(
  ansibleJobTypes.map((type) => [type.jobType, type]),
);
