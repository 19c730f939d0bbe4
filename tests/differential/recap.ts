// Reads Ansible's own PLAY RECAP from the text that a run printed.
import { COUNT_NAMES, type Counts } from "@aim/contract";

const ESCAPES = /\u001b\[[0-9;]*m/g;
const HEADER = /^PLAY RECAP \*+$/;
const ROW = /^(?<host>\S.*?)\s*: (?<counts>ok=\d+ .*)$/;

/** One map of rows for each recap that the text holds, in order. */
export function recapsIn(text: string): Map<string, Counts>[] {
  const recaps: Map<string, Counts>[] = [];
  let inside = false;
  for (const line of text.replace(ESCAPES, "").split("\n")) {
    if (HEADER.test(line)) {
      recaps.push(new Map());
      inside = true;
      continue;
    }
    const groups = inside ? ROW.exec(line)?.groups : undefined;
    if (groups === undefined) inside = false;
    else recaps.at(-1)?.set(groups["host"] ?? "", countsOf(groups["counts"] ?? ""));
  }
  return recaps;
}

/** The default callback prints `failed` where its own counts say `failures`. */
function countsOf(text: string): Counts {
  const pairs = [...text.matchAll(/(\w+)=(\d+)/g)].map(([, name, value]) => [name, Number(value)]);
  const told = Object.fromEntries(pairs) as Record<string, number | undefined>;
  const counts = COUNT_NAMES.map((name) => {
    const value = told[name === "failures" ? "failed" : name];
    if (value === undefined) throw new Error(`a recap row without ${name}: ${text}`);
    return [name, value];
  });
  return Object.fromEntries(counts) as Counts;
}
