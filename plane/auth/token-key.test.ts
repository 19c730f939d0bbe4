import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTokenKey } from "./token-key.ts";

let path = "";
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "aim-key-"));
  path = join(folder, "runner-token.key");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("the key is made once, for its owner alone", () => {
  const key = openTokenKey(path);
  expect(key).toHaveLength(32);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(openTokenKey(path)).toEqual(key);
});

test.for(["", "short\n", `${"g".repeat(64)}\n`])(
  "a file that is no key is left alone: %j",
  (text) => {
    writeFileSync(path, text);
    expect(() => openTokenKey(path)).toThrow(/is no key/);
    expect(readFileSync(path, "utf8")).toBe(text);
  },
);
