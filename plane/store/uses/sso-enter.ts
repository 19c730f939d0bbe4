// Somebody whom the identity provider vouches for comes in: found by issuer and subject, by nothing else, in one transaction.
import { canonicalJson, type GrantedRole, type RouteName } from "@aim/contract";
import { allowed, toldRoles, type AuditEntry } from "../../audit/chain.ts";
import type { Write } from "../transaction.ts";
import { writeAudit } from "./audit.ts";
import { bumpRights } from "./rights-epoch.ts";
import { openSession, type StoredSession } from "./sessions.ts";
import { saveSsoCode, type SsoCode } from "./sso-codes.ts";
import { changeUser, createUser, userOf, type StoredUser } from "./users.ts";

export interface SsoEnter {
  readonly issuer: string;
  readonly subject: string;
  /** Digests by which a logout names this person and their session at the provider; the latter null where it has none. */
  readonly subjectDigest: string;
  readonly sidDigest: string | null;
  /** What the groups map to now. */
  readonly roles: readonly GrantedRole[];
  /** What a new user becomes: the first of the names that is free. */
  readonly fresh: { readonly id: string; readonly names: readonly string[] };
  readonly gives: SsoGives;
  /** When the answer of the provider came: a logout since then counts. */
  readonly begun: number;
  readonly now: number;
  readonly route: RouteName;
  /** Until when a logout that names only the session finds its user. */
  readonly sidExpires: number;
}

/** A session for the browser, or a code for the program that waits. */
export type SsoGives =
  | {
      readonly session: Pick<StoredSession, "hash" | "idleExpires" | "absoluteExpires">;
      readonly replaces: string | null;
    }
  | { readonly code: Omit<SsoCode, "userId"> };

export type SsoEntered =
  | { readonly user: StoredUser }
  | {
      readonly refused: "disabled" | "logged_out" | "no_role" | "no_name";
      /** Null for whoever is no user here. */
      readonly userId: string | null;
    };

/** Roles are written and told only where they differ, and then every other session of the user ends. */
export async function ssoEnter(write: Write, use: SsoEnter): Promise<SsoEntered> {
  // Logouts do the same first: of two that meet, the second sees what the first has done.
  await bumpRights(write);
  const known = await findUser(write, use);
  const refused = await refusalOf(write, use, known);
  if (refused !== null) return { refused, userId: known?.id ?? null };
  const user = known === null ? await create(write, use) : await withRoles(write, known, use);
  if (user === null) return { refused: "no_name", userId: null };
  const changed = known === null || !sameRoles(known.roles, use.roles);
  if (use.roles.length === 0) {
    if (changed) await writeAudit(write, entryFor(use, user, changed));
    return { refused: "no_role", userId: user.id };
  }
  if (!(await give(write, use, user))) return { refused: "disabled", userId: user.id };
  await writeAudit(write, entryFor(use, user, changed));
  return { user };
}

type Refused = Extract<SsoEntered, { refused: unknown }>["refused"];

/** What stands against it before anything is written. */
async function refusalOf(
  write: Write,
  use: SsoEnter,
  known: StoredUser | null,
): Promise<Refused | null> {
  if (known?.disabled === true) return "disabled";
  if (await loggedOut(write, use)) return "logged_out";
  return known === null && use.roles.length === 0 ? "no_role" : null;
}

/** The roles are told where they are new. */
function entryFor(
  { now, roles, route }: SsoEnter,
  { id, name }: StoredUser,
  changed: boolean,
): AuditEntry {
  const detail = changed ? { route, roles: toldRoles(roles) } : { route };
  const doing = {
    action: "session.own",
    customer: null,
    what: { user_id: id },
    detail,
    now,
  } as const;
  return allowed({ kind: "user", id, name }, doing);
}

async function findUser({ db, rows }: Write, use: SsoEnter): Promise<StoredUser | null> {
  const row = await rows
    .hold(db.selectFrom("users").selectAll())
    .where("oidc_issuer", "=", use.issuer)
    .where("oidc_subject", "=", use.subject)
    .executeTakeFirst();
  return row === undefined ? null : userOf(row);
}

/** Whether the provider told, meanwhile, that this session ended, or since the answer that this person left. */
async function loggedOut({ db }: Write, use: SsoEnter): Promise<boolean> {
  const found = await db
    .selectFrom("sso_logouts")
    .select("jti")
    .where((where) =>
      where.or([
        where("sid", "=", use.sidDigest),
        where.and([
          where("subject", "=", use.subjectDigest),
          where("at_ms", ">=", Math.round(use.begun)),
        ]),
      ]),
    )
    .executeTakeFirst();
  return found !== undefined;
}

async function create(write: Write, use: SsoEnter): Promise<StoredUser | null> {
  for (const name of use.fresh.names) {
    const user: StoredUser = {
      id: use.fresh.id,
      name,
      passwordHash: null,
      oidc: { issuer: use.issuer, subject: use.subject },
      disabled: false,
      roles: use.roles,
      passwordChanged: use.now,
      created: use.now,
    };
    if (await createUser(write, user)) return user;
  }
  return null;
}

async function withRoles(
  write: Write,
  known: StoredUser,
  { roles, now }: SsoEnter,
): Promise<StoredUser | null> {
  return sameRoles(known.roles, roles) ? known : changeUser(write, { id: known.id, roles, now });
}

function sameRoles(one: readonly GrantedRole[], other: readonly GrantedRole[]): boolean {
  const told = (roles: readonly GrantedRole[]) =>
    roles
      .map((role) => canonicalJson(role))
      .toSorted()
      .join();
  return told(one) === told(other);
}

/** Answers false where no session may be opened for the user. */
async function give(write: Write, use: SsoEnter, user: StoredUser): Promise<boolean> {
  const { db } = write;
  const now = Math.round(use.now);
  if (use.sidDigest !== null) {
    const kept = { user_id: user.id, expires_ms: Math.round(use.sidExpires) };
    await db.deleteFrom("sso_sids").where("expires_ms", "<=", now).execute();
    await db
      .insertInto("sso_sids")
      .values({ sid: use.sidDigest, ...kept })
      .onConflict((conflict) => conflict.column("sid").doUpdateSet(kept))
      .execute();
  }
  if ("session" in use.gives) {
    const { passwordChanged } = user;
    const { replaces, session } = use.gives;
    const opened = { ...session, userId: user.id, created: now, lastSeen: now };
    return openSession(write, { ...opened, replaces, passwordChanged });
  }
  await saveSsoCode(write, { ...use.gives.code, userId: user.id, now });
  return true;
}
