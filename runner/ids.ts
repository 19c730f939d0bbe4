// Fresh ids of the runner's own making.
import { randomBytes } from "node:crypto";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

export function newId(prefix: "clm" | "rnr"): string {
  const letters = [...randomBytes(26)].map((byte) => ALPHABET[byte % 32] ?? "0");
  return `${prefix}_${letters.join("")}`;
}
