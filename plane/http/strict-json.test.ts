import fc from "fast-check";
import { expect, test } from "vitest";
import { AimError } from "@aim/contract";
import { parseStrict } from "./strict-json.ts";

function codeOf(text: string): string {
  try {
    parseStrict(text);
    return "ok";
  } catch (error) {
    return error instanceof AimError ? error.code : "defect";
  }
}

test.for([
  ["{}", "ok"],
  ['{"a":{"b":1},"c":{"b":2}}', "ok"],
  ['{"a":"a","b":"a"}', "ok"],
  ['{"a":["a","a"]}', "ok"],
  ['{"a":1,"a":2}', "duplicate_key"],
  ['{"a":1,"\\u0061":2}', "duplicate_key"],
  ['{"x":[{"a":1,"b":{"a":1},"a":2}]}', "duplicate_key"],
  ['{"__proto__":{}}', "duplicate_key"],
  ["", "malformed_json"],
  ["[]", "malformed_json"],
  ["null", "malformed_json"],
  ['{"a":1}{"a":1}', "malformed_json"],
  ["{'a':1}", "malformed_json"],
  [`${'{"a":'.repeat(16)}1${"}".repeat(16)}`, "ok"],
  [`${'{"a":'.repeat(17)}1${"}".repeat(17)}`, "malformed_json"],
  [`${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`, "malformed_json"],
] as const)("%s is %s", ([text, code]) => {
  expect(codeOf(text)).toBe(code);
});

test("what JSON.stringify writes is read back, whatever quotes and braces its texts hold", () => {
  const texts = fc.string({ unit: fc.constantFrom('"', "\\", "{", "}", ":", ",", "[", "a") });
  fc.assert(
    fc.property(fc.dictionary(texts, texts), (value) => {
      fc.pre(!Object.hasOwn(value, "__proto__"));
      expect(parseStrict(JSON.stringify(value))).toEqual(value);
    }),
    { numRuns: 2000 },
  );
});
