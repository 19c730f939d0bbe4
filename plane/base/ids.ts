// Ids in Crockford base 32. Fresh ones are 48 bits of time and 80 bits of chance, so that they sort by age.
import { createHash, randomBytes } from "node:crypto";
import type { IdPrefix } from "@aim/contract";

const ID_BYTES = 16;
const TIME_BYTES = 6;
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

export type NewId = (prefix: IdPrefix) => string;

let last = 0n;

/** Fresh in the whole world, and later than every id that this process made before. */
export function newId(prefix: IdPrefix): string {
  const bytes = Buffer.alloc(ID_BYTES);
  bytes.writeUIntBE(Date.now(), 0, TIME_BYTES);
  randomBytes(ID_BYTES - TIME_BYTES).copy(bytes, TIME_BYTES);
  const fresh = BigInt(`0x${bytes.toString("hex")}`);
  // Within one millisecond, or after the wall went back, chance would not keep the order.
  last = fresh > last ? fresh : last + 1n;
  return idOf(prefix, last);
}

/** The same text has the same id, whoever makes it: for what must not exist twice. */
export function derivedId(prefix: IdPrefix, text: string): string {
  const digest = createHash("sha256").update(text).digest("hex");
  return idOf(prefix, BigInt(`0x${digest.slice(0, 2 * ID_BYTES)}`));
}

function idOf(prefix: IdPrefix, number: bigint): string {
  let value = number;
  let text = "";
  for (let place = 0; place < 26; place += 1) {
    text = (ALPHABET[Number(value & 31n)] ?? "") + text;
    value >>= 5n;
  }
  return `${prefix}_${text}`;
}
