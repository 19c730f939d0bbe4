// API tokens: made for oneself or for a service, never with more than the maker may, good until revoked or over.
import {
  AimError,
  TOKEN_TTL_S,
  type GrantedRole,
  type MadeToken,
  type NewToken,
  type Principal,
  type TokenView,
} from "@aim/contract";
import { can } from "../auth/can.ts";
import { heldOf } from "../auth/grants.ts";
import { hashOf, idOfApiToken, newApiToken, sameHash } from "../auth/secrets.ts";
import { formatTimestamp } from "../base/clock.ts";
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
  const { store, clock } = parts;
  return {
    make: (who, wish) =>
      wish.service === undefined
        ? makeUserToken(parts, who, wish)
        : makeServiceToken(parts, who, { ...wish, service: wish.service }),
    list: async (who) => {
      const userId = isAdmin(who) ? null : who.id;
      return (await store.listTokens({ userId, limit: LISTED_MAX })).map(viewOf);
    },
    revoke: async (who, id) => {
      const found = await store.readToken({ id });
      const own = found !== null && found.token.userId === who.id;
      if (!own && (found === null || !isAdmin(who))) throw new AimError("not_found");
      await store.revokeToken({ id, now: clock.now() });
    },
  };
}

function isAdmin(who: Principal): boolean {
  return can(who, "user.write");
}

/** The token owns what its user owns, and never may more than they do at the moment of its use. */
export async function makeUserToken(
  parts: AccessParts,
  who: Principal,
  wish: NewToken,
): Promise<MadeToken> {
  // A token makes no token: it would outlive the one that was revoked.
  if (who.kind !== "user") throw new AimError("not_permitted");
  return keep(parts, { ...wish, roles: within(wish.roles ?? who.roles, who), of: who.id });
}

/** A service is nobody: its tokens outlive whoever made them. */
async function makeServiceToken(
  parts: AccessParts,
  who: Principal,
  wish: NewToken & { readonly service: string },
): Promise<MadeToken> {
  if (!isAdmin(who) || who.kind === "token") throw new AimError("not_permitted");
  if (wish.roles === undefined) throw new AimError("invalid_request", "/roles");
  return keep(parts, { ...wish, roles: within(wish.roles, who), of: null });
}

function within(wanted: readonly GrantedRole[], who: Principal): readonly GrantedRole[] {
  if (heldOf(wanted, who.roles).length !== wanted.length) {
    throw new AimError("roles_exceed", "/roles");
  }
  return wanted;
}

interface Wanted extends NewToken {
  readonly roles: GrantedRole[];
  /** The user that has it; null for a service. */
  readonly of: string | null;
}

async function keep(
  parts: AccessParts,
  wish: Omit<Wanted, "roles"> & { readonly roles: readonly GrantedRole[] },
): Promise<MadeToken> {
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
  await parts.store.saveToken(stored);
  return { token, about: viewOf(stored) };
}

/** Null for a text that is no token, or one that is unknown, revoked or over, or whose user is disabled. */
async function findGood(parts: AccessParts, text: string) {
  const id = idOfApiToken(text);
  const found = id === null ? null : await parts.store.readToken({ id });
  if (found === null || !sameHash(found.token.hash, hashOf(text))) return null;
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
export async function revokeBearer(parts: AccessParts, text: string): Promise<void> {
  const found = await findGood(parts, text);
  if (found !== null) await parts.store.revokeToken({ id: found.token.id, now: parts.clock.now() });
}

function viewOf(token: StoredToken): TokenView {
  const time = (at: number | null) => (at === null ? null : formatTimestamp(at));
  return {
    token_id: token.id,
    name: token.name,
    user_id: token.userId,
    service: token.service,
    roles: [...token.roles],
    created_at: formatTimestamp(token.created),
    expires_at: formatTimestamp(token.expires),
    last_used_at: time(token.lastUsed),
    revoked_at: time(token.revoked),
  };
}
