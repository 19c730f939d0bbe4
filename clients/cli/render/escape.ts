// Makes text from outside harmless for a terminal. The contract withholds such text; this is the second lock.

// Default-ignorable code points are invisible; variation selectors stay because emoji need them.
const UNSAFE =
  /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]--[\u{fe00}-\u{fe0f}]]/gv;

// A joiner between two pictographs makes one emoji of them; anywhere else it hides a difference between names.
const EMOJI_JOINER =
  /(?<=\p{Extended_Pictographic}[\u{fe0f}\p{Emoji_Modifier}]?)\u{200d}(?=\p{Extended_Pictographic})/gv;

/** Replaces control, C1, bidirectional, invisible and lone surrogate code points by `\u{…}`. */
export function visible(text: string): string {
  return text.split(EMOJI_JOINER).map(escapeAll).join("\u{200d}");
}

/** As `visible`, but keeps line feeds and tabs: for a document rather than a name. */
export function visibleDocument(text: string): string {
  return text
    .split("\n")
    .map((line) => line.split("\t").map(visible).join("\t"))
    .join("\n");
}

function escapeAll(text: string): string {
  return text.replaceAll(UNSAFE, (character) => {
    const codePoint = character.codePointAt(0) ?? 0;
    return `\\u{${codePoint.toString(16).padStart(4, "0")}}`;
  });
}
