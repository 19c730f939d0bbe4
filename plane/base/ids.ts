// Fresh ids: 48 bits of time, 80 bits of chance, in Crockford base 32, so that they sort by age.
import { randomBytes } from "node:crypto";
import type { IdPrefix } from "@aim/contract";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

export type NewId = (prefix: IdPrefix) => string;

export function newId(prefix: IdPrefix): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  randomBytes(10).copy(bytes, 6);
  let value = BigInt(`0x${bytes.toString("hex")}`);
  let text = "";
  for (let place = 0; place < 26; place += 1) {
    text = (ALPHABET[Number(value & 31n)] ?? "") + text;
    value >>= 5n;
  }
  return `${prefix}_${text}`;
}
