// The programs as they are shipped: the first line of each says how Node is started for it.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const AIMD = fileURLToPath(new URL("../../plane/main.ts", import.meta.url));

/** Node's own options for a program, from its first line; without one that names any, none. */
export function nodeOptions(entry: string): string[] {
  const [first = ""] = readFileSync(entry, "utf8").split("\n", 1);
  return first.split(" ").filter((word) => word.startsWith("--"));
}
