// Codes that programs get from a login in a browser: each is used once, and only by who knows what its challenge is made of.
import type { Kysely } from "kysely";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";
import type { Audited } from "./audit.ts";
import { bumpRights } from "./rights-epoch.ts";
import { saveToken, type StoredToken } from "./tokens.ts";
import { userOf, type StoredUser } from "./users.ts";

export interface SsoCode {
  readonly hash: string;
  readonly userId: string;
  readonly challenge: string;
  readonly expires: number;
}

/** Part of the transaction in which its user comes in. Forgets those that are over. */
export async function saveSsoCode(
  { db }: Write,
  { challenge, expires, hash, now, userId }: SsoCode & { readonly now: number },
): Promise<void> {
  await db.deleteFrom("sso_codes").where("expires_ms", "<=", now).execute();
  const row = { hash, user_id: userId, challenge, expires_ms: Math.round(expires) };
  await db.insertInto("sso_codes").values(row).execute();
}

/** Whose code it is, without using it. Null for one that is unknown, used or over. */
export async function readSsoCode(
  db: Kysely<Schema>,
  use: { readonly hash: string; readonly now: number },
): Promise<StoredUser | null> {
  const row = await db
    .selectFrom("sso_codes")
    .innerJoin("users", "users.id", "sso_codes.user_id")
    .selectAll("users")
    .where("sso_codes.hash", "=", use.hash)
    .where("sso_codes.expires_ms", ">", Math.round(use.now))
    .executeTakeFirst();
  return row === undefined ? null : userOf(row);
}

export interface UseSsoCode {
  readonly hash: string;
  readonly challenge: string;
  /** What is given for it. */
  readonly token: StoredToken & Audited;
  readonly now: number;
}

/** Uses the code up, whatever comes of it. Answers false, and keeps no token, for a code that is not good. */
export async function useSsoCode(write: Write, use: UseSsoCode): Promise<boolean> {
  // Logouts do the same first: one that came before has taken the code, one that comes after takes the token.
  await bumpRights(write);
  const row = await write.db
    .deleteFrom("sso_codes")
    .where("hash", "=", use.hash)
    .returningAll()
    .executeTakeFirst();
  const good =
    row !== undefined &&
    use.now < row.expires_ms &&
    row.challenge === use.challenge &&
    row.user_id === use.token.userId;
  if (good) await saveToken(write, use.token);
  return good;
}
