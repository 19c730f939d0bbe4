// JSON as the contract wants it: one object, no repeated key, no deeper than sixteen levels.
import { AimError } from "@aim/contract";

const DEPTH_MAX = 16;

/** Parses one JSON object. Throws malformed_json or duplicate_key. */
export function parseStrict(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new AimError("malformed_json", undefined, { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new AimError("malformed_json");
  }
  checkKeys(text);
  return value as Record<string, unknown>;
}

/** Walks valid JSON text once and compares the keys of each object as JavaScript would read them. */
function checkKeys(text: string): void {
  const objects: (Set<string> | null)[] = [];
  const token = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;
  let lastString: string | null = null;
  for (const [found] of text.matchAll(token)) {
    if (found.startsWith('"')) {
      lastString = found;
      continue;
    }
    if (found === "{" || found === "[") {
      objects.push(found === "{" ? new Set() : null);
      if (objects.length > DEPTH_MAX) throw new AimError("malformed_json");
    } else if (found === "}" || found === "]") objects.pop();
    else if (found === ":" && lastString !== null) addKey(objects.at(-1), lastString);
    lastString = null;
  }
}

function addKey(keys: Set<string> | null | undefined, quoted: string): void {
  const key = JSON.parse(quoted) as string;
  if (key === "__proto__" || keys?.has(key) === true) throw new AimError("duplicate_key", key);
  keys?.add(key);
}
