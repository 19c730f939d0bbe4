import { expect, test } from "vitest";
import { MUTANTS } from "./mutants.ts";
import { explore, type Bounds } from "./world.ts";

const long = process.env["AIM_TEST_LONG"] === "1";
const BOUNDS: Bounds = long
  ? { ticks: 6, messages: 2, statesMax: 5_000_000 }
  : { ticks: 5, messages: 1, statesMax: 400_000 };

test(
  "no way through the model breaks an invariant, and every way was walked",
  { timeout: 1_200_000 },
  () => {
    const { states, violation, steps } = explore(BOUNDS);
    expect(violation).toBeNull();
    expect(steps, "the model was not exhausted").toBe(0);
    expect(states).toBeGreaterThanOrEqual(long ? 500_000 : 2_000);
  },
);

test.for(Object.entries(MUTANTS))("the model notices when %s", ([, mutant]) => {
  const { violation } = explore({ ticks: 6, messages: 2, statesMax: 300_000 }, mutant);
  expect(violation).not.toBeNull();
});
