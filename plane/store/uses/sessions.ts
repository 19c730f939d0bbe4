// Sessions of browsers: known by the hash of a random id, over when idle or old, ended on the server.
import type { Kysely } from "kysely";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";
import { writeAudit, type Audited } from "./audit.ts";
import { bumpRights } from "./rights-epoch.ts";
import { userOf, type StoredUser } from "./users.ts";

export interface StoredSession {
  readonly hash: string;
  readonly userId: string;
  readonly created: number;
  readonly lastSeen: number;
  readonly idleExpires: number;
  readonly absoluteExpires: number;
}

export interface OpenSession extends StoredSession, Audited {
  /** What the same browser had before. */
  readonly replaces: string | null;
  /** When the password changed that was just shown to be known. */
  readonly passwordChanged: number;
}

/**
 * Opens a session and ends the one before. Forgets those that are over. Answers false for a user who was disabled or whose
 * password was changed since the asker looked.
 */
export async function openSession(write: Write, use: OpenSession): Promise<boolean> {
  const { db, rows } = write;
  const now = Math.round(use.created);
  const user = await rows
    .hold(db.selectFrom("users").select("id").where("id", "=", use.userId))
    .where("disabled", "=", 0)
    .where("password_changed_ms", "=", use.passwordChanged)
    .executeTakeFirst();
  if (user === undefined) return false;
  if (use.replaces !== null) await endSession(write, { hash: use.replaces });
  await db.deleteFrom("sessions").where("absolute_expires_ms", "<=", now).execute();
  await db
    .insertInto("sessions")
    .values({
      hash: use.hash,
      user_id: use.userId,
      created_ms: now,
      last_seen_ms: Math.round(use.lastSeen),
      idle_expires_ms: Math.round(use.idleExpires),
      absolute_expires_ms: Math.round(use.absoluteExpires),
    })
    .execute();
  await writeAudit(write, use.audit);
  return true;
}

export interface SessionAndUser {
  readonly session: StoredSession;
  readonly user: StoredUser;
}

/** Null for a session that is unknown or over, or whose user is disabled. */
export async function readSession(
  db: Kysely<Schema>,
  use: { readonly hash: string; readonly now: number },
): Promise<SessionAndUser | null> {
  const row = await db
    .selectFrom("sessions")
    .innerJoin("users", "users.id", "sessions.user_id")
    .selectAll("users")
    .select([
      "sessions.created_ms as opened_ms",
      "sessions.last_seen_ms",
      "sessions.idle_expires_ms",
      "sessions.absolute_expires_ms",
    ])
    .where("sessions.hash", "=", use.hash)
    .where("users.disabled", "=", 0)
    .where("sessions.idle_expires_ms", ">", Math.round(use.now))
    .where("sessions.absolute_expires_ms", ">", Math.round(use.now))
    .executeTakeFirst();
  if (row === undefined) return null;
  const session = {
    hash: use.hash,
    userId: row.id,
    created: row.opened_ms,
    lastSeen: row.last_seen_ms,
    idleExpires: row.idle_expires_ms,
    absoluteExpires: row.absolute_expires_ms,
  };
  return { session, user: userOf(row) };
}

/** Its holder was here: the idle time begins anew. Takes no right, so the epoch stays. */
export async function touchSession(
  { db }: Write,
  use: { readonly hash: string; readonly now: number; readonly idleExpires: number },
): Promise<void> {
  await db
    .updateTable("sessions")
    .set({ last_seen_ms: Math.round(use.now), idle_expires_ms: Math.round(use.idleExpires) })
    .where("hash", "=", use.hash)
    .execute();
}

/** One that has ended before is not told of again. */
export async function endSession(
  write: Write,
  use: Audited & { readonly hash: string },
): Promise<void> {
  const { numDeletedRows } = await write.db
    .deleteFrom("sessions")
    .where("hash", "=", use.hash)
    .executeTakeFirst();
  await bumpRights(write);
  if (numDeletedRows > 0n) await writeAudit(write, use.audit);
}
