// A plain table: one heading row, columns aligned by display width.
import { visible } from "./escape.ts";
import { displayWidth, padEnd } from "./width.ts";

export function tableLines(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): string[] {
  const cells = [headings, ...rows].map((row) => row.map(visible));
  const widths = headings.map((_heading, column) =>
    cells.reduce((most, row) => Math.max(most, displayWidth(row[column] ?? "")), 0),
  );
  return cells.map((row) =>
    row
      .map((cell, column) => padEnd(cell, widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
