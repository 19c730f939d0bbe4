import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { referencePages } from "../../tools/reference.ts";
import { staleSchemas } from "../../tools/schemas.ts";
import { fileFaults, unexplained } from "./rules.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

function trackedFiles(): string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard"];
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).split("\n").filter(Boolean);
}

const files = trackedFiles();
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const isSource = (path: string): boolean => /\.(?:ts|mjs|py)$/.test(path);

test("no source file breaks a rule of the house", () => {
  const faults = files
    .filter(isSource)
    .flatMap((path) => fileFaults(path, read(path)).map((fault) => `${path}: ${fault}`));
  expect(faults).toEqual([]);
});

test.for([
  ["a long file", "one.ts", "// line\n".repeat(401)],
  ["a name that says nothing", "plane/base/utils.ts", "// x\n"],
  ["a skipped test", "one.test.ts", `test.${["sk", "ip"].join("")}('x', f)\n`],
  ["unfinished work", "one.py", `# ${["TO", "DO"].join("")}: later\n`],
] as const)("the rules notice %s", ([, path, text]) => {
  expect(fileFaults(path, text)).toHaveLength(1);
});

test("every folder with code says at its door what it is for", () => {
  expect(unexplained(files.filter(isSource), read)).toEqual([]);
});

test("the map names every part of the house", () => {
  const map = read("ARCHITECTURE.md");
  const parts = new Set(
    files.filter(isSource).flatMap((path) => (path.includes("/") ? [path.split("/")[0]] : [])),
  );
  expect([...parts].filter((part) => !map.includes(`${part}/`))).toEqual([]);
  expect(map.split("\n").length).toBeLessThanOrEqual(200);
});

test("the README can be read in one go", () => {
  expect(read("README.md").split("\n").length).toBeLessThanOrEqual(120);
});

test("every link between documents leads somewhere", () => {
  const broken = files
    .filter((path) => path.endsWith(".md"))
    .flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)]
        .map(([, target = ""]) => join(path, "..", target))
        .filter((target) => !exists(target))
        .map((target) => `${path} -> ${target}`),
    );
  expect(broken).toEqual([]);
});

function exists(path: string): boolean {
  return statSync(join(ROOT, path), { throwIfNoEntry: false }) !== undefined;
}

test("the checked-in schemas are what the contract says", () => {
  expect(staleSchemas()).toEqual([]);
});

test("the reference pages are what the contract says", () => {
  const stale = [...referencePages()].filter(
    ([name, text]) => read(`docs/reference/${name}`) !== text,
  );
  expect(stale.map(([name]) => name)).toEqual([]);
});

test("every dependency is explained", () => {
  const explained = read("docs/adr/dependencies.md");
  const names = files
    .filter((path) => basename(path) === "package.json")
    .flatMap((path) => {
      const manifest = JSON.parse(read(path)) as Record<string, Record<string, string> | undefined>;
      return ["dependencies", "devDependencies", "optionalDependencies"].flatMap((kind) =>
        Object.keys(manifest[kind] ?? {}),
      );
    })
    .filter((name) => !name.startsWith("@aim/") && !name.startsWith("@types/"));
  expect(names.filter((name) => !explained.includes(name))).toEqual([]);
});

test("no file names a registry host or holds a very large blob", () => {
  const large = files.filter((path) => statSync(join(ROOT, path)).size > 512 * 1024);
  expect(large).toEqual([]);
  expect(
    /"resolved"/.test(read("package-lock.json").replaceAll(/"resolved": "[a-z/]+"/g, "")),
  ).toBe(false);
});
