import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readVariables } from "./variables.ts";

const folder = mkdtempSync(join(tmpdir(), "aim-variables-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return `@${path}`;
}

// Expected values are those of ansible-core 2.19.11's parse_kv for the same text.
test.each([
  ["a=1", { a: "1" }],
  ["a=1 b=true c=", { a: "1", b: "true", c: "" }],
  ["a='x y' b=\"p q\"", { a: "x y", b: "p q" }],
  ["a=b=c", { a: "b=c" }],
  ["a={{ x + 1 }} b=2", { a: "{{ x + 1 }}", b: "2" }],
  ["a='it''s'", { a: "it''s" }],
  [String.raw`a=x\ty`, { a: "x\ty" }],
  [String.raw`a=\u00e9`, { a: "é" }],
  [String.raw`a="say \"hi\""`, { a: 'say "hi"' }],
  ["", {}],
])("%j gives %j", (text, variables) => {
  expect(readVariables([text])).toEqual(variables);
});

test("JSON keeps its types, and a later option wins", () => {
  const path = file("vars.json", '{"n": 1, "list": [true, null]}');
  expect(readVariables(['{"n": 0, "x": {"y": 2}}', path, "x=text"])).toEqual({
    n: 1,
    list: [true, null],
    x: "text",
  });
});

test.each([
  ["word", "no '='"],
  ["=x", "no variable name"],
  ["1a=x", "no variable name"],
  ["a='x", "not closed"],
  ["{a: 1}", "not one JSON object"],
  ["[1]", "not one JSON object"],
  ["@/does/not/exist", "cannot be read"],
])("%j is refused with a sentence", (text, sentence) => {
  expect(() => readVariables([text])).toThrow(sentence);
});

test("YAML and vaulted files are refused by their names", () => {
  expect(() => readVariables([file("vars.yml", "a: 1\n")])).toThrow("YAML is not supported");
  expect(() => readVariables([file("vault.yml", "$ANSIBLE_VAULT;1.1;AES256\n6134\n")])).toThrow(
    "is vaulted",
  );
});

test("a refusal never repeats the value", () => {
  expect(() => readVariables(["hunter2"])).not.toThrow("hunter2");
});
