import { expect, test } from "vitest";
import { Compile } from "typebox/compile";
import { AttemptIdSchema } from "@aim/contract";
import { derivedId, newId } from "./ids.ts";

test("ids of one process sort by age, also within a millisecond, and none comes twice", () => {
  const ids = Array.from({ length: 5_000 }, () => newId("run"));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  const runs = Compile(AttemptIdSchema);
  expect(ids.every((id) => runs.Check(id))).toBe(true);
});

test("a derived id is the same for the same text only", () => {
  expect(derivedId("evt", "a 1")).toBe(derivedId("evt", "a 1"));
  expect(derivedId("evt", "a 1")).not.toBe(derivedId("evt", "a 2"));
});
