// Users: who they are and what they may. A change that takes something ends their sessions in the same transaction.
import type { Kysely } from "kysely";
import type { GrantedRole } from "@aim/contract";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";
import { writeAudit, type Audited } from "./audit.ts";
import { bumpRights } from "./rights-epoch.ts";

export interface StoredUser {
  readonly id: string;
  readonly name: string;
  readonly passwordHash: string | null;
  readonly oidc: { readonly issuer: string; readonly subject: string } | null;
  readonly disabled: boolean;
  readonly roles: readonly GrantedRole[];
  readonly passwordChanged: number;
  readonly created: number;
}

/** Answers false where the name or the identity elsewhere is taken. */
export async function createUser(write: Write, user: StoredUser & Audited): Promise<boolean> {
  const inserted = await write.db
    .insertInto("users")
    .values({
      id: user.id,
      name: user.name,
      password_hash: user.passwordHash,
      oidc_issuer: user.oidc?.issuer ?? null,
      oidc_subject: user.oidc?.subject ?? null,
      disabled: Number(user.disabled),
      roles: JSON.stringify(user.roles),
      password_changed_ms: Math.round(user.passwordChanged),
      created_ms: Math.round(user.created),
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  await bumpRights(write);
  if (inserted.numInsertedOrUpdatedRows !== 1n) return false;
  await writeAudit(write, user.audit);
  return true;
}

export interface ChangeUser extends Audited {
  readonly id: string;
  readonly disabled?: boolean;
  readonly roles?: readonly GrantedRole[];
  readonly passwordHash?: string | null;
  readonly now: number;
}

/** Ends every session of the user. Answers the user as changed, or null for none. */
export async function changeUser(write: Write, use: ChangeUser): Promise<StoredUser | null> {
  const { disabled, roles, passwordHash } = use;
  const row = await write.db
    .updateTable("users")
    .set({
      ...(disabled === undefined ? {} : { disabled: Number(disabled) }),
      ...(roles === undefined ? {} : { roles: JSON.stringify(roles) }),
      ...(passwordHash === undefined
        ? {}
        : { password_hash: passwordHash, password_changed_ms: Math.round(use.now) }),
    })
    .where("id", "=", use.id)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return null;
  await write.db.deleteFrom("sessions").where("user_id", "=", use.id).execute();
  await bumpRights(write);
  await writeAudit(write, use.audit);
  return userOf(row);
}

export async function readUser(
  db: Kysely<Schema>,
  use: { readonly id: string },
): Promise<StoredUser | null> {
  const row = await db.selectFrom("users").selectAll().where("id", "=", use.id).executeTakeFirst();
  return row === undefined ? null : userOf(row);
}

export async function readUserByName(
  db: Kysely<Schema>,
  use: { readonly name: string },
): Promise<StoredUser | null> {
  const row = await db
    .selectFrom("users")
    .selectAll()
    .where("name", "=", use.name)
    .executeTakeFirst();
  return row === undefined ? null : userOf(row);
}

/** In the order of their names. */
export async function listUsers(db: Kysely<Schema>): Promise<StoredUser[]> {
  const rows = await db.selectFrom("users").selectAll().orderBy("name").execute();
  return rows.map(userOf);
}

export async function anyUser(db: Kysely<Schema>): Promise<boolean> {
  const row = await db.selectFrom("users").select("id").limit(1).executeTakeFirst();
  return row !== undefined;
}

export function userOf(row: Schema["users"]): StoredUser {
  const { oidc_issuer: issuer, oidc_subject: subject } = row;
  return {
    id: row.id,
    name: row.name,
    passwordHash: row.password_hash,
    oidc: issuer === null || subject === null ? null : { issuer, subject },
    disabled: row.disabled === 1,
    roles: JSON.parse(row.roles) as GrantedRole[],
    passwordChanged: row.password_changed_ms,
    created: row.created_ms,
  };
}
