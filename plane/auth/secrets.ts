// What is random and shown once: session ids, one-time codes, API tokens. Only their hashes are kept.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";

const PREFIX = "aim_pat_";
const TOKEN = /^aim_pat_([0-9a-hjkmnp-tv-z]{26})_([0-9a-f]{64})_([0-9a-f]{8})$/;

/** 256 random bits, as a cookie may hold them. */
export function newSessionId(): string {
  return randomBytes(32).toString("base64url");
}

/** 160 random bits that somebody may have to type. */
export function newSetupCode(): string {
  return randomBytes(20).toString("hex");
}

/** Fine without salt or cost: what is hashed has more bits than anybody can try. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** In a time that does not depend on where they differ. */
export function sameText(one: string, two: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(two)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A token for the id `pat_…`: `aim_pat_<id>_<256 random bits>_<crc>`. */
export function newApiToken(id: string): string {
  const text = `${PREFIX}${id.replace(/^pat_/, "")}_${randomBytes(32).toString("hex")}`;
  return `${text}_${sumOf(text)}`;
}

/** The id in a token, or null for a text that is none: a slip of the hand costs no look into the store. */
export function idOfApiToken(token: string): string | null {
  const [, id = "", secret = "", sum] = TOKEN.exec(token) ?? [];
  return sum === sumOf(`${PREFIX}${id}_${secret}`) ? `pat_${id}` : null;
}

function sumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}
