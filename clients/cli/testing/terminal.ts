// A terminal small enough to read: line feeds, cursor up, erase below and colours. It refuses every other code.

/** What a person sees after the output, from the top of the scrollback on, without trailing blank lines. */
export function screenAfter(output: string): string[] {
  const rows: string[] = [""];
  let row = 0;
  // eslint-disable-next-line no-control-regex
  for (const [token] of output.matchAll(/\u001b\[[0-9;?]*[A-Za-z]|\r|\n|[^\u001b\r\n]+/g)) {
    if (token === "\n") {
      row += 1;
      rows[row] ??= "";
    } else if (token === "\r") {
      continue;
    } else if (token.startsWith("\u{1b}")) {
      row = control(token, { row, rows });
    } else {
      rows[row] += token;
    }
  }
  return rows.map((text) => text.trimEnd());
}

function control(token: string, screen: { row: number; rows: string[] }): number {
  const code = token.slice(2);
  if (code.endsWith("m")) return screen.row;
  if (code === "J") {
    screen.rows.length = screen.row;
    screen.rows.push("");
    return screen.row;
  }
  if (/^\d+A$/.test(code)) return Math.max(0, screen.row - Number.parseInt(code, 10));
  throw new Error(`the terminal was sent ${JSON.stringify(token)}`);
}
