// API tokens: made for oneself or for a service, never with more than the maker may, good until revoked or over.
import {
  AimError,
  SSO_TOKEN_TTL_S_MAX,
  TOKEN_TTL_S,
  type GrantedRole,
  type MadeToken,
  type NewToken,
  type Principal,
  type TokenView,
} from "@aim/contract";
import { allowed, toldRoles, type AuditEntry } from "../audit/chain.ts";
import { can } from "../auth/can.ts";
import { heldOf } from "../auth/grants.ts";
import { hashOf, idOfApiToken, newApiToken, sameText } from "../auth/secrets.ts";
import { formatOrNull, formatTimestamp } from "../base/clock.ts";
import type { Audited } from "../store/uses/audit.ts";
import type { StoredToken } from "../store/uses/tokens.ts";
import { TOUCH_MS, type AccessParts } from "./access.ts";

const LISTED_MAX = 500;
const SERVICE_PREFIX = "service:";

export interface ApiTokens {
  readonly make: (who: Principal, wish: NewToken) => Promise<MadeToken>;
  readonly list: (who: Principal) => Promise<TokenView[]>;
  readonly revoke: (who: Principal, id: string) => Promise<void>;
}

export function createApiTokens(parts: AccessParts): ApiTokens {
  const { store } = parts;
  return {
    make: (who, wish) =>
      wish.service === undefined
        ? makeUserToken(parts, who, { ...wish, route: "tokenCreate" })
        : makeServiceToken(parts, who, { ...wish, service: wish.service }),
    list: async (who) => {
      const userId = isAdmin(who) ? null : who.id;
      return (await store.listTokens({ userId, limit: LISTED_MAX })).map(viewOf);
    },
    revoke: async (who, id) => {
      const found = await store.readToken({ id });
      const own = found !== null && found.token.userId === who.id;
      if (!own && (found === null || !isAdmin(who))) throw new AimError("not_found");
      await store.revokeToken({ id, ...revoking(parts, who, { id, route: "tokenRevoke" }) });
    },
  };
}

function isAdmin(who: Principal): boolean {
  return can(who, "user.write");
}

/** By which route a token is made: on its own, or instead of a session. */
type MadeBy = "tokenCreate" | "login" | "ssoRedeem";

export type SaveToken = (token: StoredToken & Audited) => Promise<void>;

/** The token owns what its user owns, and never may more than they do at the moment of its use. */
export async function makeUserToken(
  parts: AccessParts,
  who: Principal,
  wish: NewToken & Pick<Wanted, "route" | "save">,
): Promise<MadeToken> {
  // A token makes no token: it would outlive the one that was revoked.
  if (who.kind !== "user") throw new AimError("not_permitted");
  if ((wish.ttl_s ?? TOKEN_TTL_S.default) > SSO_TOKEN_TTL_S_MAX) {
    const user = await parts.store.readUser({ id: who.id });
    if (user !== null && user.oidc !== null) throw new AimError("invalid_request", "/ttl_s");
  }
  return keep(parts, who, { ...wish, roles: within(wish.roles ?? who.roles, who), of: who.id });
}

/** A service is nobody: its tokens outlive whoever made them. */
async function makeServiceToken(
  parts: AccessParts,
  who: Principal,
  wish: NewToken & { readonly service: string },
): Promise<MadeToken> {
  if (!isAdmin(who) || who.kind === "token") throw new AimError("not_permitted");
  if (wish.roles === undefined) throw new AimError("invalid_request", "/roles");
  const roles = within(wish.roles, who);
  return keep(parts, who, { ...wish, roles, of: null, route: "tokenCreate" });
}

function within(wanted: readonly GrantedRole[], who: Principal): readonly GrantedRole[] {
  if (heldOf(wanted, who.roles).length !== wanted.length) {
    throw new AimError("roles_exceed", "/roles");
  }
  return wanted;
}

interface Wanted extends Omit<NewToken, "roles"> {
  readonly roles: readonly GrantedRole[];
  /** The user that has it; null for a service. */
  readonly of: string | null;
  readonly route: MadeBy;
  /** For a token that is kept together with something else. */
  readonly save?: SaveToken;
}

async function keep(parts: AccessParts, who: Principal, wish: Wanted): Promise<MadeToken> {
  const id = parts.newId("pat");
  const token = newApiToken(id);
  const created = Math.round(parts.clock.now());
  const stored: StoredToken = {
    id,
    hash: hashOf(token),
    name: wish.name,
    userId: wish.of,
    service: wish.service ?? null,
    roles: wish.roles,
    created,
    expires: created + (wish.ttl_s ?? TOKEN_TTL_S.default) * 1000,
    lastUsed: null,
    revoked: null,
  };
  const audit = allowed(who, {
    action: wish.route === "tokenCreate" ? "token.own" : "session.own",
    customer: null,
    what: { token_id: id, ...(wish.of === null ? {} : { user_id: wish.of }) },
    detail: { route: wish.route, roles: toldRoles(wish.roles) },
    now: created,
  });
  const { save = parts.store.saveToken } = wish;
  await save({ ...stored, audit });
  return { token, about: viewOf(stored) };
}

/** Null for a text that is no token, or one that is unknown, revoked or over, or whose user is disabled. */
async function findGood(parts: AccessParts, text: string) {
  const id = idOfApiToken(text);
  const found = id === null ? null : await parts.store.readToken({ id });
  if (found === null || !sameText(found.token.hash, hashOf(text))) return null;
  const { token, user } = found;
  const over = token.revoked !== null || parts.clock.now() >= token.expires;
  return over || user?.disabled === true ? null : found;
}

export async function principalOfToken(
  parts: AccessParts,
  text: string,
): Promise<Principal | null> {
  const found = await findGood(parts, text);
  if (found === null) return null;
  const { token, user } = found;
  const now = parts.clock.now();
  if (now - (token.lastUsed ?? 0) >= TOUCH_MS) await parts.store.touchToken({ id: token.id, now });
  if (user !== null) {
    const { id, name } = user;
    return { kind: "token", id, name, roles: heldOf(token.roles, user.roles) };
  }
  const id = `${SERVICE_PREFIX}${token.service ?? ""}`;
  return { kind: "service", id, name: id, roles: [...token.roles] };
}

/** Ends the token that the request came with. */
export async function revokeBearer(
  parts: AccessParts,
  who: Principal,
  text: string,
): Promise<void> {
  const found = await findGood(parts, text);
  if (found === null) return;
  const { id } = found.token;
  await parts.store.revokeToken({ id, ...revoking(parts, who, { id, route: "logout" }) });
}

function revoking(
  { clock }: AccessParts,
  who: Principal,
  { id, route }: { readonly id: string; readonly route: "tokenRevoke" | "logout" },
): { readonly now: number; readonly audit: AuditEntry } {
  const now = clock.now();
  const action = route === "logout" ? "session.own" : "token.own";
  const what = { token_id: id };
  return { now, audit: allowed(who, { action, customer: null, what, detail: { route }, now }) };
}

function viewOf(token: StoredToken): TokenView {
  return {
    token_id: token.id,
    name: token.name,
    user_id: token.userId,
    service: token.service,
    roles: [...token.roles],
    created_at: formatTimestamp(token.created),
    expires_at: formatTimestamp(token.expires),
    last_used_at: formatOrNull(token.lastUsed),
    revoked_at: formatOrNull(token.revoked),
  };
}
