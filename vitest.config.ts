import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Longest first: one that begins last would be waited for by all others. */
const LONGEST = [
  "tests/differential/",
  "tests/simulation/",
  "tests/crash/",
  "tests/outbox/outbox",
  "tests/leak/leak",
  "tests/acceptance/",
  "tests/ending/lost",
  "tests/cli/",
] as const;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = LONGEST.findIndex((part) => moduleId.includes(part));
      return found === -1 ? LONGEST.length : found;
    };
    return files.toSorted((one, other) => place(one) - place(other));
  }
}

/** Hundreds of planes, runners and commands are started: each reads what the first one has compiled. */
const env = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL(".aim/cache/compile", import.meta.url)),
};

// Tests of one part stand beside its code and need no service; tests of the whole stand in tests/.
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          env,
          include: ["{contract,drivers,runner,plane,clients,tools}/**/*.test.ts"],
          exclude: ["**/node_modules/**"],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "whole",
          env,
          include: ["tests/**/*.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          // Each starts a real plane: more at once than cores would only wait for each other.
          maxWorkers: 2,
          pool: "forks",
        },
      },
    ],
  },
});
