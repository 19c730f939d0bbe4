import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "./canonical-json.ts";

test("members are sorted by UTF-16 code units and nothing is spaced", () => {
  const value = {
    "\u20ac": 1,
    "\r": 2,
    "\ufb33": 3,
    "1": 4,
    "\u{1f600}": 5,
    "\u0080": 6,
    "\u00f6": 7,
  };
  expect(canonicalJson(value)).toBe(
    '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}',
  );
});

test.for([
  [1e21, "1e+21"],
  [1e-7, "1e-7"],
  [-0, "0"],
  [333_333_333.333_333_3, "333333333.3333333"],
  [Number.MAX_SAFE_INTEGER, "9007199254740991"],
] as const)("the number %d is written as %s", ([value, text]) => {
  expect(canonicalJson(value)).toBe(text);
});

test.for([undefined, () => 1, Number.NaN, Number.POSITIVE_INFINITY, Symbol("x"), 1n, "\ud800"])(
  "what JSON cannot hold is refused",
  (value) => {
    expect(() => canonicalJson({ value })).toThrow(TypeError);
  },
);

test("the order in which members were written changes nothing, and the value survives", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const shuffled = Object.fromEntries(Object.entries(value).toReversed());
      expect(canonicalJson(shuffled)).toBe(canonicalJson(value));
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: 500 },
  );
});
