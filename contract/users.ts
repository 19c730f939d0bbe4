// Users, sessions and API tokens as clients see them. What is secret goes out once, when it is made.
import { Type, type Static } from "typebox";
import { GrantedRoleSchema, PrincipalSchema } from "./access.ts";
import { TimestampSchema, TokenIdSchema, UserIdSchema } from "./ids.ts";

const closed = { additionalProperties: false } as const;
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);

export const UserNameSchema = Type.String({ pattern: "^[a-z0-9][a-z0-9._@-]{0,62}$" });

/** Bounds of a password in code points. */
export const PASSWORD_CODE_POINTS = { least: 8, most: 128 } as const;
/** Anything that could be one; whether it may be chosen the plane says. */
const PasswordSchema = Type.String({ minLength: 1, maxLength: 1024 });

const TokenNameSchema = Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9 ._@:-]{0,62}$" });
export const ServiceNameSchema = Type.String({ pattern: "^[a-z0-9][a-z0-9._-]{0,62}$" });
export const TOKEN_TTL_S = { least: 60, most: 90 * 24 * 3600, default: 8 * 3600 } as const;
/** Of whoever comes from an identity provider, which is asked again at least that often. */
export const SSO_TOKEN_TTL_S_MAX = 8 * 3600;
const TokenTtlSchema = Type.Integer({ minimum: TOKEN_TTL_S.least, maximum: TOKEN_TTL_S.most });

export const RolesSchema = Type.Array(GrantedRoleSchema, { maxItems: 100 });

/** A token instead of a session, for a program that keeps no cookies. */
export const WantedTokenSchema = Type.Object(
  { name: TokenNameSchema, ttl_s: Type.Optional(TokenTtlSchema) },
  closed,
);

export const LoginSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 255 }),
    password: PasswordSchema,
    token: Type.Optional(WantedTokenSchema),
  },
  closed,
);
export type Login = Static<typeof LoginSchema>;

/** Uses a one-time code up by choosing a password. Only the first administrator says a name with it. */
export const SetupSchema = Type.Object(
  {
    code: Type.String({ pattern: "^[0-9a-f]{40}$" }),
    name: Type.Optional(UserNameSchema),
    password: PasswordSchema,
    token: Type.Optional(WantedTokenSchema),
  },
  closed,
);
export type Setup = Static<typeof SetupSchema>;

export const LoggedInSchema = Type.Object(
  {
    principal: PrincipalSchema,
    /** Only where one was asked for; then there is no session. */
    token: orNull(Type.String()),
    expires_at: TimestampSchema,
  },
  closed,
);
export type LoggedIn = Static<typeof LoggedInSchema>;

export const PasswordChangeSchema = Type.Object(
  { old_password: PasswordSchema, new_password: PasswordSchema },
  closed,
);
export type PasswordChange = Static<typeof PasswordChangeSchema>;

export const UserSchema = Type.Object(
  {
    user_id: UserIdSchema,
    name: Type.String(),
    disabled: Type.Boolean(),
    roles: RolesSchema,
    /** Issuer of an identity elsewhere; null for a local user. */
    issuer: orNull(Type.String()),
    /** False until the one-time code is used, and for whoever comes from elsewhere. */
    has_password: Type.Boolean(),
    created_at: TimestampSchema,
  },
  closed,
);
export type UserView = Static<typeof UserSchema>;

export const NewUserSchema = Type.Object({ name: UserNameSchema, roles: RolesSchema }, closed);
export type NewUser = Static<typeof NewUserSchema>;

export const UserChangeSchema = Type.Object(
  { disabled: Type.Optional(Type.Boolean()), roles: Type.Optional(RolesSchema) },
  closed,
);
export type UserChange = Static<typeof UserChangeSchema>;

/** A user and the code with which exactly they choose a password. Told once. */
export const UserCodeSchema = Type.Object(
  { user: UserSchema, code: Type.String(), expires_at: TimestampSchema },
  closed,
);
export type UserCode = Static<typeof UserCodeSchema>;

export const TokenSchema = Type.Object(
  {
    token_id: TokenIdSchema,
    name: Type.String(),
    /** Exactly one of the two has it. */
    user_id: orNull(UserIdSchema),
    service: orNull(Type.String()),
    roles: RolesSchema,
    created_at: TimestampSchema,
    expires_at: TimestampSchema,
    last_used_at: orNull(TimestampSchema),
    revoked_at: orNull(TimestampSchema),
  },
  closed,
);
export type TokenView = Static<typeof TokenSchema>;

export const NewTokenSchema = Type.Object(
  {
    name: TokenNameSchema,
    ttl_s: Type.Optional(TokenTtlSchema),
    /** No more than the maker's own; absent for all of them. A service's are always said. */
    roles: Type.Optional(RolesSchema),
    /** The token belongs to this service and to no user. */
    service: Type.Optional(ServiceNameSchema),
  },
  closed,
);
export type NewToken = Static<typeof NewTokenSchema>;

/** The token itself, which nobody can read again. */
export const MadeTokenSchema = Type.Object({ token: Type.String(), about: TokenSchema }, closed);
export type MadeToken = Static<typeof MadeTokenSchema>;
