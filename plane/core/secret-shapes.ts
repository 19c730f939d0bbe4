// Recognises values that look like secrets or references to them where only plain values belong.

const NAME = /pass(?:word|wd|phrase)?$|secret|token|api_?key|private_?key|credential/i;
const VALUE = [
  /^vault:\/\//i,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /\bAKIA[0-9A-Z]{16}\b/,
  /\bgh[pousr]_\w{20,}/,
  /\bglpat-[\w-]{16,}/,
  /\bxox[abeprs]-[\w-]{8,}/,
  /\bhv[sb]\.[\w-]{16,}/,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\./,
  /\$ANSIBLE_VAULT;/,
];

/** JSON Pointer of the first value that looks like a secret, or null. */
export function findSecret(value: unknown, pointer = ""): string | null {
  if (typeof value === "string") return VALUE.some((shape) => shape.test(value)) ? pointer : null;
  if (typeof value !== "object" || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    const place = `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (NAME.test(key) && typeof item === "string" && item !== "") return place;
    const found = findSecret(item, place);
    if (found !== null) return found;
  }
  return null;
}
