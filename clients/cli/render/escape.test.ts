import * as fc from "fast-check";
import { expect, test } from "vitest";
import { visible, visibleDocument } from "./escape.ts";

test.each([
  ["\u{1b}[2J", "\\u{001b}[2J"],
  ["a\rb\nc\td", "a\\u{000d}b\\u{000a}c\\u{0009}d"],
  ["\u{9b}31m", "\\u{009b}31m"],
  ["web\u{202e}gpj", "web\\u{202e}gpj"],
  ["a\u{2066}b\u{2069}", "a\\u{2066}b\\u{2069}"],
  ["a\u{200b}b\u{200d}c\u{200c}d\u{feff}", "a\\u{200b}b\\u{200d}c\\u{200c}d\\u{feff}"],
  ["a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"],
  ["a\u{e0041}b", "a\\u{e0041}b"],
  ["a\u{3164}b", "a\\u{3164}b"],
  ["\u{d800}", "\\u{d800}"],
])("%j is shown as %j", (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test.each(["web-01", "sërver", "café", "サーバー", "서버", "שרת", "🚀", "👩‍💻", "👩🏽‍💻", "❤️‍🔥", "✈️"])(
  "%s stays as it is",
  (name) => {
    expect(visible(name)).toBe(name);
  },
);

test("no text leaves a code point that a terminal would obey", () => {
  const hostile = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(hostile, (text) => {
      expect(visible(text)).not.toMatch(
        /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{200b}]/v,
      );
    }),
  );
});

test("a document keeps its lines and tabs", () => {
  expect(visibleDocument("a\tb\r\n\u{1b}c\n")).toBe("a\tb\\u{000d}\n\\u{001b}c\n");
});
