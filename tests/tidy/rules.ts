// The rules of the house that a program can see in one file or one folder.
import { basename, dirname } from "node:path";

const LINES_MAX = 400;
const EMPTY_NAMES =
  /^(?:utils?|helpers?|common|misc|shared|lib|manager|service|types|interfaces)\.(?:ts|mjs|py)$/;
// Put together from parts, so that this file does not find itself.
const UNFINISHED = new RegExp(
  `\\b(?:${["TO", "FIX"].map((start) => `${start}${start === "TO" ? "DO" : "ME"}`).join("|")})\\b|\\b(?:it|test|describe)\\.(?:skip|only)\\(`,
);

/** What is wrong with one source file. */
export function fileFaults(path: string, text: string): string[] {
  const faults: string[] = [];
  const lines = text.split("\n").length - 1;
  if (lines > LINES_MAX) faults.push(`${lines} lines`);
  if (EMPTY_NAMES.test(basename(path))) faults.push("its name says nothing");
  if (UNFINISHED.test(text)) faults.push("something unfinished or skipped");
  return faults;
}

/** Live source files whose first lines do not say what the file is for. */
export function unexplained(paths: readonly string[], read: (path: string) => string): string[] {
  return paths
    .filter((path) => !/\.test\.ts$|\/tests\/|^tests\/|conftest|\/testing\//.test(path))
    .filter((path) => dirname(path) !== ".")
    .filter((path) => !/^(?:#!.*\n)?(?:(?:\/\/|#) SPDX.*\n)?(?:\/\/|"""|# )/.test(read(path)));
}
