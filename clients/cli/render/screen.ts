// Two streams, one screen: lines that stay go to stdout, the live region is drawn below them on stderr.
import { displayWidth } from "./width.ts";

interface Sink {
  write(text: string): unknown;
}

export interface ScreenOptions {
  readonly out: Sink;
  readonly err: Sink;
  /** The live region may be drawn: stderr is a terminal that understands cursor movement. */
  readonly live: boolean;
  /** Both streams are terminals, so lines must wait until the region is out of the way. */
  readonly shared: boolean;
  readonly columns: () => number;
}

/** Lines kept back for the next redraw at most; more are written at once. */
const HELD_LINES_MAX = 500;

// eslint-disable-next-line no-control-regex
const COLOR_CODES = /\u001b\[[0-9;]*m/g;

export class Screen {
  readonly #options: ScreenOptions;
  #held: string[] = [];
  #drawn: readonly string[] = [];

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  /** Adds lines that stay. On a shared terminal they appear with the next `draw`. */
  append(lines: readonly string[]): void {
    if (lines.length === 0) return;
    if (!this.#options.live || !this.#options.shared) {
      this.#options.out.write(text(lines));
      return;
    }
    this.#held.push(...lines);
    if (this.#held.length >= HELD_LINES_MAX) this.#flush();
  }

  /** Redraws the region where it or the lines above it changed. */
  draw(region: readonly string[]): void {
    if (!this.#options.live) return;
    const same = this.#held.length === 0 && sameLines(region, this.#drawn);
    if (same) return;
    this.#flush();
    this.#erase();
    this.#options.err.write(text(region));
    this.#drawn = region;
  }

  /** Removes the region and writes what was held back. */
  finish(): void {
    this.#flush();
    this.#erase();
  }

  #flush(): void {
    if (this.#held.length === 0) return;
    this.#erase();
    this.#options.out.write(text(this.#held));
    this.#held = [];
  }

  #erase(): void {
    if (this.#drawn.length === 0) return;
    const columns = Math.max(1, this.#options.columns());
    // A terminal made narrower has wrapped what was drawn, so rows are counted anew.
    const rows = this.#drawn.reduce((sum, line) => sum + rowsOf(line, columns), 0);
    this.#options.err.write(`\u{1b}[${rows}A\r\u{1b}[J`);
    this.#drawn = [];
  }
}

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(displayWidth(line.replaceAll(COLOR_CODES, "")) / columns));
}

function text(lines: readonly string[]): string {
  return `${lines.join("\n")}\n`;
}

function sameLines(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index]);
}
