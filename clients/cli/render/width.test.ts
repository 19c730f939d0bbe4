import { expect, test } from "vitest";
import { displayWidth, padEnd, truncate } from "./width.ts";

test.each([
  ["web-01", 6],
  ["", 0],
  ["サーバー", 8],
  ["서버", 4],
  ["서버".normalize("NFD"), 4],
  ["café", 4],
  ["café".normalize("NFD"), 4],
  ["שרת", 3],
  ["🚀", 2],
  ["👩‍💻", 2],
  ["🇩🇪", 2],
  ["✈️", 2],
  ["✓", 1],
  ["Ａ", 2],
])("%s takes %i columns", (text, columns) => {
  expect(displayWidth(text)).toBe(columns);
});

test("padding and cutting count columns, not characters", () => {
  expect(padEnd("🚀", 4)).toBe("🚀  ");
  expect(padEnd("too long", 3)).toBe("too long");
  expect(truncate("サーバー", 5)).toBe("サー…");
  expect(truncate("👩‍💻👩‍💻", 3)).toBe("👩‍💻…");
  expect(truncate("abc", 3)).toBe("abc");
  expect(truncate("abc", 0)).toBe("");
});
