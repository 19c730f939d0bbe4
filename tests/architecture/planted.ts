// One violation for each rule of .dependency-cruiser.mjs: files of a small tree that breaks exactly that rule.

export const PLANTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "no-cycles": {
    "plane/base/one.ts": `import { two } from "./two.ts";\nexport const one = two;\n`,
    "plane/base/two.ts": `import type { one } from "./one.ts";\nexport const two = 2 as unknown as typeof one;\n`,
  },
  "contract-stands-alone": {
    "contract/leaning.ts": `import "fastify";\n`,
  },
  "drivers-see-contract-and-kit-only": {
    "drivers/one/reaching.ts": `import "../../plane/base/plain.ts";\n`,
    "plane/base/plain.ts": `export const plain = 1;\n`,
  },
  "drivers-do-not-see-each-other": {
    "drivers/one/looking.ts": `import "../two/seen.ts";\n`,
    "drivers/two/seen.ts": `export const seen = 1;\n`,
  },
  "schemas-are-browser-safe": {
    "drivers/one/schema.ts": `import "node:fs";\n`,
  },
  "plane-and-runner-do-not-import-each-other": {
    "plane/base/hands-on.ts": `import "../../runner/plain.ts";\n`,
    "runner/plain.ts": `export const plain = 1;\n`,
  },
  "runner-does-not-import-the-plane": {
    "runner/deciding.ts": `import "../plane/base/plain.ts";\n`,
  },
  "plane-runs-no-tool": {
    "plane/base/driving.ts": `import "../../drivers/one/run.ts";\n`,
    "drivers/one/run.ts": `export const run = 1;\n`,
  },
  "only-sandbox-starts-processes": {
    "runner/starting.ts": `import "node:child_process";\n`,
  },
  "only-store-speaks-sql": {
    "plane/core/asking.ts": `import "kysely";\n`,
  },
  "sqlite-in-its-dialect-only": {
    "plane/store/uses/opening.ts": `import "node:sqlite";\n`,
  },
  "pg-in-its-dialect-only": {
    "plane/store/uses/connecting.ts": `import "pg";\n`,
  },
  "only-http-speaks-fastify": {
    "plane/core/serving.ts": `import "fastify";\n`,
  },
  "only-telemetry-speaks-to-monitors": {
    "plane/execution/counting.ts": `import "prom-client";\n`,
  },
  "decisions-know-no-machinery": {
    "plane/execution/step.ts": `import "node:fs";\n`,
  },
  "adapters-meet-in-compose": {
    "plane/store/answering.ts": `import "../http/plain.ts";\n`,
    "plane/http/plain.ts": `export const plain = 1;\n`,
  },
  "auth-stands-apart": {
    "plane/auth/looking-up.ts": `import "../store/plain.ts";\n`,
    "plane/store/plain.ts": `export const plain = 1;\n`,
  },
  "nobody-imports-compose": {
    "plane/core/knowing-all.ts": `import "../compose.ts";\n`,
    "plane/compose.ts": `export const compose = 1;\n`,
  },
  "clients-speak-only-the-contract": {
    "clients/cli/private-door.ts": `import "../../plane/base/plain.ts";\n`,
  },
  "help-loads-little": {
    "clients/cli/declarations/heavy.ts": `import { heavy } from "../../../contract/heavy.ts";\nexport const light = heavy;\n`,
    "contract/heavy.ts": `export const heavy = 1;\n`,
  },
  "source-does-not-import-tests": {
    "plane/base/borrowing.ts": `import "../../tests/plain.ts";\n`,
    "tests/plain.ts": `export const plain = 1;\n`,
  },
  "no-undeclared-dependencies": {
    "plane/base/undeclared.ts": `import "fast-check";\n`,
  },
  resolvable: {
    "plane/base/lost.ts": `import "./nowhere.ts";\n`,
  },
};
