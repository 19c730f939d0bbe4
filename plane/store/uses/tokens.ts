// API tokens, known by their id and the hash of the whole: those of users, and those of services, which are no user's.
import type { Kysely } from "kysely";
import type { GrantedRole } from "@aim/contract";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";
import { writeAudit, type Audited } from "./audit.ts";
import { bumpRights } from "./rights-epoch.ts";
import { readUser, type StoredUser } from "./users.ts";

/** So long a list shows a token that is over, or was revoked, and when it was last used. */
const SHOWN_AFTER_END_MS = 30 * 24 * 3_600_000;

export interface StoredToken {
  readonly id: string;
  readonly hash: string;
  readonly name: string;
  /** Exactly one of the two is set. */
  readonly userId: string | null;
  readonly service: string | null;
  readonly roles: readonly GrantedRole[];
  readonly created: number;
  readonly expires: number;
  readonly lastUsed: number | null;
  readonly revoked: number | null;
}

/** Forgets those that ended long ago; the audit still tells of them. */
export async function saveToken(write: Write, token: StoredToken & Audited): Promise<void> {
  const created_ms = Math.round(token.created);
  // First, as logouts do: of two that meet, the second waits here and not for a token.
  await bumpRights(write);
  await write.db
    .deleteFrom("api_tokens")
    .where("expires_ms", "<=", created_ms - SHOWN_AFTER_END_MS)
    .execute();
  await write.db
    .insertInto("api_tokens")
    .values({
      id: token.id,
      hash: token.hash,
      name: token.name,
      user_id: token.userId,
      service: token.service,
      roles: JSON.stringify(token.roles),
      created_ms,
      expires_ms: Math.round(token.expires),
      last_used_ms: null,
      revoked_ms: null,
    })
    .execute();
  await writeAudit(write, token.audit);
}

export interface TokenAndUser {
  readonly token: StoredToken;
  /** Null for a service. */
  readonly user: StoredUser | null;
}

/** Null for none with this id. Whether it is good, and the hash right, is the asker's to decide. */
export async function readToken(
  db: Kysely<Schema>,
  use: { readonly id: string },
): Promise<TokenAndUser | null> {
  const row = await db
    .selectFrom("api_tokens")
    .selectAll()
    .where("id", "=", use.id)
    .executeTakeFirst();
  if (row === undefined) return null;
  const user = row.user_id === null ? null : await readUser(db, { id: row.user_id });
  return { token: tokenOf(row), user };
}

/** Newest first; of one user, or of all and every service for null. */
export async function listTokens(
  db: Kysely<Schema>,
  use: { readonly userId: string | null; readonly limit: number },
): Promise<StoredToken[]> {
  let query = db.selectFrom("api_tokens").selectAll().orderBy("id", "desc").limit(use.limit);
  if (use.userId !== null) query = query.where("user_id", "=", use.userId);
  return (await query.execute()).map(tokenOf);
}

/** Takes no right, so the epoch stays. */
export async function touchToken(
  { db }: Write,
  use: { readonly id: string; readonly now: number },
): Promise<void> {
  const last_used_ms = Math.round(use.now);
  await db.updateTable("api_tokens").set({ last_used_ms }).where("id", "=", use.id).execute();
}

/** A token that was revoked before keeps that moment. */
export async function revokeToken(
  write: Write,
  use: Audited & { readonly id: string; readonly now: number },
): Promise<void> {
  const { numUpdatedRows } = await write.db
    .updateTable("api_tokens")
    .set({ revoked_ms: Math.round(use.now) })
    .where("id", "=", use.id)
    .where("revoked_ms", "is", null)
    .executeTakeFirst();
  await bumpRights(write);
  if (numUpdatedRows > 0n) await writeAudit(write, use.audit);
}

function tokenOf(row: Schema["api_tokens"]): StoredToken {
  return {
    id: row.id,
    hash: row.hash,
    name: row.name,
    userId: row.user_id,
    service: row.service,
    roles: JSON.parse(row.roles) as GrantedRole[],
    created: row.created_ms,
    expires: row.expires_ms,
    lastUsed: row.last_used_ms,
    revoked: row.revoked_ms,
  };
}
