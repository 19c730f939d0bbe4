// JSON as the contract wants it: one object, no repeated key, no deeper than sixteen levels, keys in plain text.
import { AimError } from "./errors.ts";

const DEPTH_MAX = 16;
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

/**
 * Parses one JSON object. Throws malformed_json or duplicate_key, also for a key that cannot be written without an
 * escape (a quote, a backslash, a control character): JSON.parse of V8 13.6 reads the text of an escaped key of an
 * object unescaped when it follows the shape of an earlier object, so such keys are not to be trusted to it.
 */
export function parseStrict(text: string): Record<string, unknown> {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new AimError("malformed_json", undefined, { cause: error });
  }
  const value: unknown = JSON.parse(withPlainKeys(text));
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new AimError("malformed_json");
  }
  return value as Record<string, unknown>;
}

/** Walks valid JSON text once, checks depth and keys, and writes every key without escapes. */
function withPlainKeys(text: string): string {
  const objects: (Set<string> | null)[] = [];
  const pieces: string[] = [];
  let copied = 0;
  let string: { readonly at: number; readonly quoted: string } | null = null;
  for (const { 0: found, index } of text.matchAll(TOKEN)) {
    if (found === ":" && string !== null) {
      pieces.push(text.slice(copied, string.at), plainKey(objects.at(-1), string.quoted));
      copied = string.at + string.quoted.length;
    } else track(objects, found);
    string = found.startsWith('"') ? { at: index, quoted: found } : null;
  }
  return pieces.join("") + text.slice(copied);
}

function track(objects: (Set<string> | null)[], token: string): void {
  if (token === "}" || token === "]") objects.pop();
  if (token !== "{" && token !== "[") return;
  objects.push(token === "{" ? new Set() : null);
  if (objects.length > DEPTH_MAX) throw new AimError("malformed_json");
}

function plainKey(keys: Set<string> | null | undefined, quoted: string): string {
  // A string alone is read rightly; only keys of objects are not.
  const key = JSON.parse(quoted) as string;
  const plain = JSON.stringify(key);
  if (plain.includes("\\")) throw new AimError("malformed_json");
  if (key === "__proto__" || keys?.has(key) === true) throw new AimError("duplicate_key", key);
  keys?.add(key);
  return plain;
}
