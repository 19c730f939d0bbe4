// Times as a table shows them.

/** Without the fraction of the second. */
export function wholeSeconds(timestamp: string): string {
  return timestamp.replace(/\.\d+Z$/, "Z");
}
