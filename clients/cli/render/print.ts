// What a command found, on stdout: one JSON document for programs, or the lines that people read.
import type { OutputFlags } from "../settings.ts";

export function print<T>(
  { output }: Pick<OutputFlags, "output">,
  found: T,
  lines: (found: T) => readonly string[],
): void {
  const text = output === "json" ? JSON.stringify(found) : lines(found).join("\n");
  process.stdout.write(`${text}\n`);
}
