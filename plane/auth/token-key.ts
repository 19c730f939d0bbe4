// The key that this installation signs runners' tokens with. Made at first need; whoever replaces it ends every token.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createDurably } from "../base/durable-file.ts";

const KEY_BYTES = 32;

/** Opens the key, making it when there is none. Throws for a file that is no key or cannot be read. */
export function openTokenKey(path: string): Uint8Array {
  // Two processes may need it first at the same moment: one makes it, both read it.
  createDurably({ path, content: `${randomBytes(KEY_BYTES).toString("hex")}\n`, mode: 0o600 });
  const found = /^([0-9a-f]{64})\n?$/.exec(readFileSync(path, "utf8"))?.[1];
  if (found === undefined) throw new Error(`the runners' token key ${path} is no key`);
  return Buffer.from(found, "hex");
}
