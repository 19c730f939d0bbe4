import fc from "fast-check";
import { expect, test } from "vitest";
import { createCredentialSearch, createHostRule, labelOf, type LabelKind } from "./names.ts";

const nothing = (_: string): boolean => false;
const label = (text: string, kind: LabelKind = "task", holds = nothing) =>
  labelOf({ is: "text", text }, kind, holds).label;

test.for([
  "Install the packages",
  "Update MySQL root password for app",
  "Uses ${SHELL_STYLE} and {single} braces",
  "Перезапустить службу",
  "再起動する",
  "🚀 Lift off",
  "می‌خواهم",
  "Rotate the API token",
  "a".repeat(200),
  "𝒜".repeat(200),
])("the plain name %s is published as it is", (name) => {
  expect(label(name)).toBe(name);
});

test.for([
  ["{{ inventory_hostname }} restarts", "Dynamic name"],
  ["{% raw %}x{% endraw %}", "Dynamic name"],
  ["#jinja2: variable_start_string:'[%'", "Dynamic name"],
  ["a".repeat(201), "Withheld name"],
  ["𝒜".repeat(201), "Withheld name"],
  ["€".repeat(200) + "€".repeat(67), "Withheld name"],
  ["tab\there", "Withheld name"],
  ["line\nbreak", "Withheld name"],
  ["next\u0085line", "Withheld name"],
  ["esc\u001b[31mred", "Withheld name"],
  ["hidden\u202etxet", "Withheld name"],
  ["zero\u200bwidth", "Withheld name"],
  ["separator\u2028here", "Withheld name"],
  ["paragraph\u2029here", "Withheld name"],
  ["lone \ud800 surrogate", "Withheld name"],
  ["Fetch https://example.org/x", "Withheld name"],
  ["Clone git+ssh://host/x", "Withheld name"],
  ["Log in as root@db-1", "Withheld name"],
  ["Set password=hunter2", "Withheld name"],
  ["Set DB_PASSWORD: hunter2", "Withheld name"],
  ['Use "api_key": "x"', "Withheld name"],
  ["Send Authorization: Basic eHg6eXk=", "Withheld name"],
  ["Use bearer abcdefgh12345", "Withheld name"],
  ["Use AKIAABCDEFGHIJKLMNOP", "Withheld name"],
  ["Use ghp_abcdefghijklmnopqrstuvwx", "Withheld name"],
])("the name %j becomes %s", ([name, expected]) => {
  expect(label(name ?? "")).toBe(expected);
});

test("white space at both ends is trimmed, also the break of a folded name", () => {
  expect(label("  Padded \n")).toBe("Padded");
});

test.for([
  ["play", "Unnamed play"],
  ["task", "Unnamed task"],
  ["handler", "Unnamed handler"],
] as const)(
  "a missing or empty name of a %s is %s and nothing was redacted",
  ([kind, expected]) => {
    expect(labelOf({ is: "missing" }, kind, nothing)).toEqual({
      label: expected,
      label_redacted: false,
    });
    expect(label("   ", kind)).toBe(expected);
  },
);

test("a name that is not plain text is withheld", () => {
  for (const is of ["long", "other", "hidden"] as const) {
    expect(labelOf({ is }, "task", nothing)).toEqual({
      label: "Withheld name",
      label_redacted: true,
    });
  }
});

test("a supplied credential of four characters is found anywhere, a shorter one only as a word", () => {
  const holds = createCredentialSearch(["kite", "ox1", "é"]);
  expect(label("My kitesurf", "task", holds)).toBe("Withheld name");
  expect(label("box12 arrives", "task", holds)).toBe("box12 arrives");
  expect(label("unit ox1 arrives", "task", holds)).toBe("Withheld name");
  expect(label("café", "task", holds)).toBe("café");
  expect(label("c é f", "task", holds)).toBe("Withheld name");
});

test("a credential with a line break at its end is found without it", () => {
  const holds = createCredentialSearch(["swordfish\n", ""]);
  expect(label("Use swordfish now", "task", holds)).toBe("Withheld name");
});

test("no published label holds a control character, whatever the name", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60 }), (name) => {
      expect(label(name)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u);
    }),
    { numRuns: 20_000 },
  );
});

test("only reviewed hosts are published, compared code point by code point", () => {
  const nfc = "caf\u00e9";
  const nfd = "cafe\u0301";
  const long = "h".repeat(255);
  const rule = createHostRule(
    [
      "null",
      "PLAY RECAP",
      "2001:db8::7f",
      nfc,
      long,
      `${long}h`,
      "bad\u001bhost",
      "name with space",
    ],
    createCredentialSearch(["2001:db8::7f"]),
  );
  const shown = (host: string) => rule(host).host;
  expect(["null", "PLAY RECAP", nfc, long, "name with space"].map(shown)).toEqual([
    "null",
    "PLAY RECAP",
    nfc,
    long,
    "name with space",
  ]);
  for (const host of [nfd, `${long}h`, "bad\u001bhost", "2001:db8::7f", "elsewhere"]) {
    expect(rule(host)).toEqual({ host: null, host_redacted: true });
  }
});
