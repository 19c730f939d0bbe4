// Keeps what was measured: one JSON file for each benchmark, and its table in docs/performance.md.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { environmentLine, type Environment } from "./environment.ts";
import { ROOT } from "./place.ts";

const RESULTS = join(ROOT, "bench/results");
const PAGE = join(ROOT, "docs/performance.md");

interface Report {
  readonly name: string;
  readonly environment: Environment;
  readonly data: unknown;
  readonly table: string;
}

export function writeReport({ name, environment, data, table }: Report): void {
  mkdirSync(RESULTS, { recursive: true });
  const rounded = JSON.stringify({ name, environment, data }, roundNumbers, 2);
  writeFileSync(join(RESULTS, `${name}.json`), `${rounded}\n`);
  const text = `${environmentLine(environment)}\n\n${table}`;
  writeFileSync(PAGE, replaceBetween(readFileSync(PAGE, "utf8"), name, text));
  console.log(`${text}\n`);
}

function roundNumbers(_key: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(5)) : value;
}

/** Puts the text between the two marker comments of a benchmark. */
function replaceBetween(page: string, name: string, text: string): string {
  const [open, close] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const [from, to] = [page.indexOf(open), page.indexOf(close)];
  if (from === -1 || to < from) throw new Error(`docs/performance.md has no place for ${name}`);
  return `${page.slice(0, from + open.length)}\n${text}\n${page.slice(to)}`;
}
