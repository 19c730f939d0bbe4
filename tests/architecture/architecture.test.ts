import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeTree } from "../harness/plane.ts";
import { PLANTED } from "./planted.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CONFIG = ".dependency-cruiser.mjs";
const PARTS = ["contract", "drivers", "runner", "plane", "clients"];

interface Violation {
  readonly from: string;
  readonly rule: { readonly name: string };
}

let folder = "";
let violations: readonly Violation[] = [];

function cruise(cwd: string): readonly Violation[] {
  const program = join(ROOT, "node_modules/.bin/depcruise");
  const args = ["--config", CONFIG, "--output-type", "json", ...PARTS];
  const done = spawnSync(program, args, { cwd, encoding: "utf8", maxBuffer: 2 ** 28 });
  const report = JSON.parse(done.stdout) as { summary: { violations: Violation[] } };
  return report.summary.violations;
}

async function ruleNames(): Promise<string[]> {
  const loaded = (await import(pathToFileURL(join(ROOT, CONFIG)).href)) as {
    default: { forbidden: { name: string }[] };
  };
  return loaded.default.forbidden.map((rule) => rule.name);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "aim-architecture-"));
  for (const files of Object.values(PLANTED)) writeTree(folder, files);
  const manifest = JSON.stringify({ name: "part", type: "module", dependencies: {} });
  writeTree(folder, Object.fromEntries(PARTS.map((part) => [`${part}/package.json`, manifest])));
  for (const file of [CONFIG, "tsconfig.json", "tsconfig.strict.json"]) {
    copyFileSync(join(ROOT, file), join(folder, file));
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  violations = cruise(folder);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("every rule has a planted violation", async () => {
  expect(Object.keys(PLANTED).toSorted()).toEqual((await ruleNames()).toSorted());
});

test.for(Object.entries(PLANTED))("the rule %s catches its planted violation", ([rule, files]) => {
  const caught = violations.filter((violation) => violation.rule.name === rule);
  expect(Object.keys(files)).toContain(caught.find(({ from }) => from in files)?.from);
});

test("the project itself breaks no rule", () => {
  expect(cruise(ROOT)).toEqual([]);
});
