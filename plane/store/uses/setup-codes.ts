// One-time codes with which somebody chooses a password: the first administrator, a new user, one whose password is reset.
import type { GrantedRole } from "@aim/contract";
import type { Write } from "../transaction.ts";
import { writeAudit, type Audited } from "./audit.ts";
import { changeUser, createUser, userOf, type StoredUser } from "./users.ts";

export interface SetupCode {
  readonly hash: string;
  /** Null for the first administrator. */
  readonly userId: string | null;
  readonly expires: number;
}

/** Each user has one code at most: an older one ends, and with it the password and every session. */
export async function saveSetupCode(
  write: Write,
  use: SetupCode & Audited & { readonly now: number },
): Promise<void> {
  const { db } = write;
  await db
    .deleteFrom("setup_codes")
    .where((where) =>
      use.userId === null ? where("user_id", "is", null) : where("user_id", "=", use.userId),
    )
    .execute();
  const { hash, userId: user_id } = use;
  const expires_ms = Math.round(use.expires);
  await db.insertInto("setup_codes").values({ hash, user_id, expires_ms }).execute();
  if (user_id !== null) await changeUser(write, { id: user_id, passwordHash: null, now: use.now });
  await writeAudit(write, use.audit);
}

export interface UseSetupCode extends Audited {
  readonly hash: string;
  readonly passwordHash: string;
  /** What the first administrator becomes. */
  readonly first: {
    readonly id: string;
    readonly name: string;
    readonly roles: readonly GrantedRole[];
  };
  readonly now: number;
}

/** Uses the code up and sets the password. Answers whose it is, or null for a code that is unknown, used or over. */
export async function useSetupCode(write: Write, use: UseSetupCode): Promise<StoredUser | null> {
  const code = await write.db
    .deleteFrom("setup_codes")
    .where("hash", "=", use.hash)
    .returningAll()
    .executeTakeFirst();
  if (code === undefined || use.now >= code.expires_ms) return null;
  if (code.user_id !== null) {
    const { passwordHash, now, audit } = use;
    return changeUser(write, { id: code.user_id, passwordHash, now, ...(audit && { audit }) });
  }
  return becomeFirst(write, use);
}

/** Whoever uses the code is the first, or nobody: it is worth nothing once there are users. */
async function becomeFirst(write: Write, use: UseSetupCode): Promise<StoredUser | null> {
  const anybody = await write.db.selectFrom("users").selectAll().limit(1).executeTakeFirst();
  if (anybody !== undefined) return null;
  const user: StoredUser = {
    ...use.first,
    passwordHash: use.passwordHash,
    oidc: null,
    disabled: false,
    passwordChanged: use.now,
    created: use.now,
  };
  await createUser(write, user);
  await writeAudit(write, use.audit);
  return user;
}

/** Whose code it is, without using it: `user` is null for the first administrator; null for no code that is good. */
export async function readSetupCode(
  db: Write["db"],
  use: { readonly hash: string; readonly now: number },
): Promise<{ readonly user: StoredUser | null } | null> {
  const row = await db
    .selectFrom("setup_codes")
    .leftJoin("users", "users.id", "setup_codes.user_id")
    .selectAll("users")
    .select("setup_codes.expires_ms")
    .where("setup_codes.hash", "=", use.hash)
    .executeTakeFirst();
  if (row === undefined || use.now >= row.expires_ms) return null;
  const { id, ...rest } = row;
  return { user: id === null ? null : userOf({ ...rest, id } as Parameters<typeof userOf>[0]) };
}
