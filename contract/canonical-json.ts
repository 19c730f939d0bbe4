// RFC 8785 canonical JSON: the one form over which revisions and payload digests are taken.

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/**
 * Serializes to the canonical form of RFC 8785: members sorted by UTF-16 code units, no white space.
 * Throws a TypeError for what JSON cannot hold (undefined, functions, NaN, infinities) and for lone surrogates.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return quote(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError("canonical JSON holds finite numbers only");
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object")
    throw new TypeError(`canonical JSON cannot hold a ${typeof value}`);
  const members = Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)))
    .map(([key, member]) => `${quote(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

function quote(text: string): string {
  if (!text.isWellFormed()) throw new TypeError("canonical JSON cannot hold a lone surrogate");
  return JSON.stringify(text);
}
