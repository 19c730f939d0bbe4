import { expect, test } from "vitest";
import { AimError, JobIdSchema } from "@aim/contract";
import { afterOf, idIn, isOf, limitOf } from "./params.ts";

const JOB_ID = `job_${"0".repeat(26)}`;

/** Code and place of a refusal. */
function refusal(read: () => unknown): readonly [string, string | undefined] {
  try {
    read();
  } catch (error) {
    if (error instanceof AimError) return [error.code, error.toProblem().at];
    throw error;
  }
  throw new Error("nothing was refused");
}

test("an id of another shape is as unknown as one that nobody has", () => {
  const jobIdOf = idIn("job_id", JobIdSchema);
  expect(jobIdOf({ job_id: JOB_ID })).toBe(JOB_ID);
  for (const job_id of [undefined, "", `${JOB_ID}0`, JOB_ID.slice(1), `${JOB_ID}\n`]) {
    expect(refusal(() => jobIdOf({ job_id }))).toEqual(["not_found", undefined]);
  }
  expect(isOf(JobIdSchema)("run_00000000000000000000000000")).toBe(false);
});

test("a position is a whole number that can be counted exactly", () => {
  expect(afterOf({})).toBe(0);
  expect(afterOf({ after: "9007199254740991" })).toBe(Number.MAX_SAFE_INTEGER);
  for (const after of ["", "-1", "1.5", "1e3", "9007199254740992", "00000000000000000"]) {
    expect(refusal(() => afterOf({ after }))).toEqual(["invalid_request", "/after"]);
  }
});

test("a limit stays within its bounds", () => {
  const page = { usual: 50, most: 200 };
  expect(limitOf(undefined, page)).toBe(50);
  expect(limitOf("1", page)).toBe(1);
  expect(limitOf("200", page)).toBe(200);
  for (const text of ["0", "201", "-1", "x", "1.5"]) {
    expect(refusal(() => limitOf(text, page))).toEqual(["invalid_request", "/limit"]);
  }
});
