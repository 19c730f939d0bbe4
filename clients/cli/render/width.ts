// Columns that text takes on a terminal: by grapheme, with wide East Asian characters and emoji as two.

const GRAPHEMES = new Intl.Segmenter("und", { granularity: "grapheme" });
const PLAIN = /^[\u{20}-\u{7e}]*$/v;
const EMOJI = /^(?:\p{RGI_Emoji}|\p{Emoji_Presentation}|\p{Extended_Pictographic}\u{fe0f})/v;
const ZERO = /^[\p{Mn}\p{Me}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/v;

/** Ranges of East Asian Wide and Fullwidth characters outside emoji (Unicode Standard Annex 11). */
const WIDE_RANGES: readonly (readonly [first: number, last: number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18cff],
  [0x1aff0, 0x1b2ff],
  [0x1f200, 0x1f2ff],
  [0x20000, 0x3fffd],
];

/** Columns of one line of text without control codes. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Pads at the end to `columns`; text that is wider stays as it is. */
export function padEnd(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - displayWidth(text)));
}

/** Cuts to at most `columns`, with an ellipsis in the last one where something was cut. */
export function truncate(text: string, columns: number): string {
  if (columns <= 0) return "";
  if (displayWidth(text) <= columns) return text;
  let width = 0;
  let kept = "";
  for (const { segment } of GRAPHEMES.segment(text)) {
    width += graphemeWidth(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

function graphemeWidth(grapheme: string): number {
  if (PLAIN.test(grapheme)) return grapheme.length;
  if (EMOJI.test(grapheme)) return 2;
  if (ZERO.test(grapheme)) return 0;
  const first = grapheme.codePointAt(0) ?? 0;
  return WIDE_RANGES.some(([low, high]) => first >= low && first <= high) ? 2 : 1;
}
