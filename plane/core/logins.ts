// Coming in: a password for a session or a token, a one-time code for a password, and who a session or a token is.
import type { LoggedIn, Login, PasswordChange, Principal, RouteName, Setup } from "@aim/contract";
import { allowed, type AuditEntry } from "../audit/chain.ts";
import { checkPassword } from "../auth/passwords.ts";
import { hashOf, newSessionId, newSetupCode } from "../auth/secrets.ts";
import { formatTimestamp } from "../base/clock.ts";
import type { StoredUser } from "../store/uses/users.ts";
import { SESSION_IDLE_MS, SESSION_MS, SETUP_CODE_MS, TOUCH_MS, type LoginParts } from "./access.ts";
import { makeUserToken, principalOfToken, revokeBearer } from "./api-tokens.ts";
import { NotTheirs } from "./rights.ts";

const FIRST_ROLES: Principal["roles"] = [
  { role: "platform-admin", customer: null, job_types: null },
];
const FIRST_NAME = "admin";

/** What a browser keeps: the id of its session. */
export interface Entered {
  readonly answer: LoggedIn;
  /** Null where a token was asked for instead. */
  readonly sessionId: string | null;
}

export interface Logins {
  /** `replaces` is the session that the same browser has now. Throws login_refused, whatever is wrong. */
  readonly login: (login: Login, replaces: string | null) => Promise<Entered>;
  readonly setup: (setup: Setup, replaces: string | null) => Promise<Entered>;
  readonly logout: (who: Principal, brought: Brought) => Promise<void>;
  readonly changePassword: (who: Principal, change: PasswordChange) => Promise<void>;
  /** Null for a session or token that is unknown or over, or whose user is disabled. */
  readonly identify: (brought: Brought) => Promise<Principal | null>;
  /** The code with which the first administrator comes in; null where there are users. */
  readonly firstCode: () => Promise<string | null>;
}

export type Brought = { readonly sessionId: string } | { readonly token: string };

export function createLogins(parts: LoginParts): Logins {
  const { store, clock, passwords } = parts;

  async function login(wish: Login, replaces: string | null): Promise<Entered> {
    const user = await store.readUserByName({ name: wish.name });
    const good = await passwords.verify(wish.password, user?.passwordHash ?? null);
    if (!good || user === null || user.disabled) throw refusedAt("login_refused", user);
    return enter(parts, user, { token: wish.token, replaces });
  }

  async function setup(wish: Setup, replaces: string | null): Promise<Entered> {
    const hash = hashOf(wish.code);
    const code = await store.readSetupCode({ hash, now: clock.now() });
    if (code === null) throw refusedAt("setup_refused", null);
    const name = code.user?.name ?? wish.name ?? FIRST_NAME;
    checkPassword(wish.password, name);
    const passwordHash = await passwords.hash(wish.password);
    const first = { id: parts.newId("usr"), name, roles: FIRST_ROLES };
    const now = Math.round(clock.now());
    const about = { kind: "user", id: code.user?.id ?? first.id, name } as const;
    const audit = ownEntry(about, { route: "setup", now });
    const user = await store.useSetupCode({ hash, passwordHash, first, now, audit });
    if (user === null || user.disabled) throw refusedAt("setup_refused", user);
    return enter(parts, user, { token: wish.token, replaces });
  }

  async function changePassword(who: Principal, change: PasswordChange): Promise<void> {
    // A token is not its user: it must not be able to lock them out.
    const user = who.kind === "user" ? await store.readUser({ id: who.id }) : null;
    const good = await passwords.verify(change.old_password, user?.passwordHash ?? null);
    if (!good || user === null) throw refusedAt("login_refused", user);
    checkPassword(change.new_password, user.name);
    const passwordHash = await passwords.hash(change.new_password);
    const now = clock.now();
    const audit = ownEntry(who, { route: "passwordChange", now });
    await store.changeUser({ id: user.id, passwordHash, now, audit });
  }

  async function firstCode(): Promise<string | null> {
    if (await store.anyUser()) return null;
    const code = newSetupCode();
    const now = clock.now();
    const kept = { hash: hashOf(code), userId: null, expires: now + SETUP_CODE_MS, now };
    await store.saveSetupCode(kept);
    return code;
  }

  return {
    login,
    setup,
    changePassword,
    firstCode,
    logout: (who, brought) =>
      "token" in brought
        ? revokeBearer(parts, who, brought.token)
        : store.endSession({
            hash: hashOf(brought.sessionId),
            audit: ownEntry(who, { route: "logout", now: clock.now() }),
          }),
    identify: (brought) =>
      "token" in brought
        ? principalOfToken(parts, brought.token)
        : principalOfSession(parts, brought.sessionId),
  };
}

/** What the audit is told of somebody who comes, goes or chooses a password. */
function ownEntry(
  who: NonNullable<AuditEntry["who"]>,
  { route, now }: { readonly route: RouteName; readonly now: number },
): AuditEntry {
  const what = { user_id: who.id };
  return allowed(who, { action: "session.own", customer: null, what, detail: { route }, now });
}

/** Whose door it was is told to the audit, and to nobody else. */
export function refusedAt(
  code: "login_refused" | "setup_refused" | "sso_no_role" | "sso_refused",
  user: Pick<StoredUser, "id"> | null,
): NotTheirs {
  return new NotTheirs(code, {
    action: "session.own",
    ...(user === null ? {} : { userId: user.id }),
  });
}

export function principalOf(user: StoredUser): Principal {
  return { kind: "user", id: user.id, name: user.name, roles: [...user.roles] };
}

interface Entrance {
  readonly token: Login["token"];
  readonly replaces: string | null;
}

/** A fresh id at every login: whoever knew the one before knows nothing. */
async function enter(
  parts: LoginParts,
  user: StoredUser,
  { token, replaces }: Entrance,
): Promise<Entered> {
  const principal = principalOf(user);
  if (token !== undefined) {
    const made = await makeUserToken(parts, principal, { ...token, route: "login" });
    const answer = { principal, token: made.token, expires_at: made.about.expires_at };
    return { answer, sessionId: null };
  }
  const sessionId = newSessionId();
  const now = parts.clock.now();
  const opened = await parts.store.openSession({
    hash: hashOf(sessionId),
    userId: user.id,
    created: now,
    lastSeen: now,
    idleExpires: now + SESSION_IDLE_MS,
    absoluteExpires: now + SESSION_MS,
    replaces: replaces === null ? null : hashOf(replaces),
    passwordChanged: user.passwordChanged,
    audit: ownEntry(principal, { route: "login", now }),
  });
  if (!opened) throw refusedAt("login_refused", user);
  const expires_at = formatTimestamp(now + SESSION_MS);
  return { answer: { principal, token: null, expires_at }, sessionId };
}

async function principalOfSession(parts: LoginParts, id: string): Promise<Principal | null> {
  const hash = hashOf(id);
  const now = parts.clock.now();
  const found = await parts.store.readSession({ hash, now });
  if (found === null) return null;
  if (now - found.session.lastSeen >= TOUCH_MS) {
    await parts.store.touchSession({ hash, now, idleExpires: now + SESSION_IDLE_MS });
  }
  return principalOf(found.user);
}
