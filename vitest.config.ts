import { defineConfig } from "vitest/config";

// Tests of one part stand beside its code and need no service; tests of the whole stand in tests/.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["{contract,drivers,runner,plane,clients,tools}/**/*.test.ts"],
          exclude: ["**/node_modules/**"],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "whole",
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
