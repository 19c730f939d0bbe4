import { rmSync, symlinkSync, truncateSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  AimError,
  BUNDLE_BYTES_MAX,
  BUNDLE_FILE_BYTES_MAX,
  BUNDLE_FILES_MAX,
  BUNDLE_PATH_BYTES_MAX,
} from "@aim/contract";
import { snapshot } from "../../plane/core/bundle.ts";
import { makeFolder, writeTree } from "../harness/plane.ts";

let folder: string;

beforeEach(() => {
  folder = makeFolder("limits");
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const same = (): string => "0".repeat(64);

async function taken(): Promise<number | AimError> {
  const trees = [{ from: folder, to: "project", only: null }];
  try {
    return (await snapshot(trees, same, same)).files.length;
  } catch (error) {
    if (error instanceof AimError) return error;
    throw error;
  }
}

async function refusal(): Promise<unknown> {
  const found = await taken();
  return typeof found === "number" ? `${found} files` : [found.code, found.at];
}

test("a project of the largest number of files is taken and one file more is refused", async () => {
  const each = 200;
  const names = Array.from({ length: each }, (_, index) => [`real/f${index}`, ""]);
  writeTree(folder, Object.fromEntries(names));
  for (let index = 1; index < BUNDLE_FILES_MAX / each; index += 1) {
    symlinkSync("real", join(folder, `link${index}`));
  }
  expect(await taken()).toBe(BUNDLE_FILES_MAX);
  writeTree(folder, { "zz-one-more": "" });
  expect(await refusal()).toEqual(["content_too_large", "project/zz-one-more"]);
});

test("a file of the largest size is taken and one byte more is refused", async () => {
  writeTree(folder, { large: "" });
  truncateSync(join(folder, "large"), BUNDLE_FILE_BYTES_MAX);
  expect(await taken()).toBe(1);
  truncateSync(join(folder, "large"), BUNDLE_FILE_BYTES_MAX + 1);
  expect(await refusal()).toEqual(["content_too_large", "project/large"]);
});

test("a project of the largest size is taken and one byte more is refused", async () => {
  writeTree(folder, { "large-0": "" });
  truncateSync(join(folder, "large-0"), BUNDLE_FILE_BYTES_MAX);
  const files = BUNDLE_BYTES_MAX / BUNDLE_FILE_BYTES_MAX;
  for (let index = 1; index < files; index += 1) {
    symlinkSync("large-0", join(folder, `large-${index}`));
  }
  expect(await taken()).toBe(files);
  writeTree(folder, { more: "x" });
  expect(await refusal()).toEqual(["content_too_large", "project/more"]);
});

test("a path of the largest length is taken and one byte more is refused", async () => {
  const parts = Array.from({ length: 8 }, () => "d".repeat(100)).join("/");
  const rest = BUNDLE_PATH_BYTES_MAX - `project/${parts}/`.length;
  writeTree(folder, { [`${parts}/${"f".repeat(rest)}`]: "" });
  expect(await taken()).toBe(1);
  writeTree(folder, { [`${parts}/${"g".repeat(rest + 1)}`]: "" });
  expect(await refusal()).toEqual(["content_too_large", expect.any(String)]);
});

test("a link that leads in a circle is refused", async () => {
  symlinkSync(".", join(folder, "again"));
  expect(await refusal()).toEqual(["content_unsupported", expect.any(String)]);
});

test("a socket in a project is refused", async () => {
  const server = createServer();
  server.listen(join(folder, "ear"));
  await once(server, "listening");
  expect(await refusal()).toEqual(["content_unsupported", "project/ear"]);
  server.close();
});
