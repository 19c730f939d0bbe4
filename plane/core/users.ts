// Users as administrators see and change them. Nobody ever learns another's password: a one-time code lets them choose it.
import {
  AimError,
  type GrantedRole,
  type NewUser,
  type Principal,
  type UserChange,
  type UserCode,
  type UserView,
} from "@aim/contract";
import { allowed, toldRoles, type AuditEntry } from "../audit/chain.ts";
import { can } from "../auth/can.ts";
import { anybodyHas } from "../auth/grants.ts";
import { hashOf, newSetupCode } from "../auth/secrets.ts";
import { formatTimestamp } from "../base/clock.ts";
import type { Audited } from "../store/uses/audit.ts";
import type { StoredUser } from "../store/uses/users.ts";
import { SETUP_CODE_MS, type AccessParts } from "./access.ts";

export interface Users {
  /** All of them, or those with a role in a customer whose users the principal may see. */
  readonly list: (who: Principal) => Promise<UserView[]>;
  readonly create: (who: Principal, wish: NewUser) => Promise<UserCode>;
  readonly change: (who: Principal, id: string, change: UserChange) => Promise<UserView>;
  readonly resetPassword: (who: Principal, id: string) => Promise<UserCode>;
}

export function createUsers(parts: AccessParts): Users {
  const { store, clock } = parts;

  async function list(who: Principal): Promise<UserView[]> {
    return (await store.listUsers()).flatMap((user) => {
      const seen = user.roles.filter(({ customer }) =>
        can(who, "user.read", customer === null ? {} : { customer }),
      );
      const all = can(who, "user.read");
      return all || seen.length > 0 ? [viewOf({ ...user, roles: all ? user.roles : seen })] : [];
    });
  }

  async function create(who: Principal, wish: NewUser): Promise<UserCode> {
    requireAdmin(who);
    checkRoles(wish.roles);
    const now = Math.round(clock.now());
    const user: StoredUser = {
      id: parts.newId("usr"),
      name: wish.name,
      passwordHash: null,
      oidc: null,
      disabled: false,
      roles: wish.roles,
      passwordChanged: now,
      created: now,
    };
    const audit = entry(who, user.id, { route: "userCreate", roles: toldRoles(user.roles) });
    if (!(await store.createUser({ ...user, audit }))) throw new AimError("name_taken", "/name");
    return codeFor(user);
  }

  async function change(who: Principal, id: string, wish: UserChange): Promise<UserView> {
    requireAdmin(who);
    if (Object.keys(wish).length === 0) throw new AimError("invalid_request", "");
    if (wish.roles !== undefined) await checkNewRoles(id, wish.roles);
    const { disabled, roles } = wish;
    const audit = entry(who, id, {
      route: "userChange",
      ...(disabled === undefined ? {} : { disabled }),
      ...(roles === undefined ? {} : { roles: toldRoles(roles) }),
    });
    const changed = await store.changeUser({ id, ...wish, now: clock.now(), audit });
    if (changed === null) throw new AimError("not_found");
    return viewOf(changed);
  }

  async function checkNewRoles(id: string, roles: readonly GrantedRole[]): Promise<void> {
    checkRoles(roles);
    const user = await store.readUser({ id });
    // At the next login they would be what the groups say again.
    if (user !== null && user.oidc !== null) throw new AimError("roles_elsewhere", "/roles");
  }

  async function resetPassword(who: Principal, id: string): Promise<UserCode> {
    requireAdmin(who);
    const user = await store.readUser({ id });
    // Whoever comes from elsewhere has no password here.
    if (user === null || user.oidc !== null) throw new AimError("not_found");
    return codeFor(user, { audit: entry(who, id, { route: "passwordReset" }) });
  }

  async function codeFor(user: StoredUser, audited: Audited = {}): Promise<UserCode> {
    const code = newSetupCode();
    const now = clock.now();
    const expires = now + SETUP_CODE_MS;
    await store.saveSetupCode({ hash: hashOf(code), userId: user.id, expires, now, ...audited });
    const view = viewOf({ ...user, passwordHash: null });
    return { user: view, code, expires_at: formatTimestamp(expires) };
  }

  function entry(who: Principal, user_id: string, detail: AuditEntry["detail"]): AuditEntry {
    const now = clock.now();
    return allowed(who, { action: "user.write", customer: null, what: { user_id }, detail, now });
  }

  return { list, create, change, resetPassword };
}

function requireAdmin(who: Principal): void {
  if (!can(who, "user.write")) throw new AimError("not_permitted");
}

function checkRoles(roles: readonly GrantedRole[]): void {
  if (!anybodyHas(roles)) throw new AimError("roles_exceed", "/roles");
}

function viewOf(user: StoredUser): UserView {
  return {
    user_id: user.id,
    name: user.name,
    disabled: user.disabled,
    roles: [...user.roles],
    issuer: user.oidc?.issuer ?? null,
    has_password: user.passwordHash !== null,
    created_at: formatTimestamp(user.created),
  };
}
