import { expect, test } from "vitest";
import { GIVE_UP_MS, nextTry } from "./retry.ts";

const HOUR = 3_600_000;
const ALMOST_ONE = 1 - 2 ** -53;

test("the span doubles from one second to one hour, and chance takes all of it", () => {
  const widest = Array.from(
    { length: 100 },
    (_, index) => nextTry({ tries: index + 1, since: 0, now: 0 }, ALMOST_ONE) ?? Number.NaN,
  );
  expect(widest.slice(0, 5).map(Math.round)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
  expect(widest.every((at, index) => at <= HOUR && at >= (widest[index - 1] ?? 0))).toBe(true);
  expect(Math.round(widest.at(-1) ?? 0)).toBe(HOUR);
  for (const tries of [1, 7, 99]) expect(nextTry({ tries, since: 0, now: 5 }, 0)).toBe(5);
});

test("it is given up after 72 hours, not before", () => {
  expect(nextTry({ tries: 50, since: 0, now: GIVE_UP_MS }, 0)).toBe(GIVE_UP_MS);
  expect(nextTry({ tries: 50, since: 0, now: GIVE_UP_MS + 1 }, 0)).toBeNull();
  expect(nextTry({ tries: 50, since: 0, now: GIVE_UP_MS - HOUR / 2 }, ALMOST_ONE)).toBeNull();
  expect(nextTry({ tries: 50, since: 0, now: GIVE_UP_MS - HOUR }, ALMOST_ONE)).not.toBeNull();
});
