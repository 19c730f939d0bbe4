// The identity provider as a file tells of it: `aimd serve --oidc FILE`.
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Type, type Static } from "typebox";
import { AimError, GrantedRoleSchema, parseStrict, ROUTES } from "@aim/contract";
import { anybodyHas } from "../auth/grants.ts";
import type { GroupRole } from "../auth/oidc/identity.ts";
import type { ProviderSettings } from "../auth/oidc/provider.ts";
import { isLoopback } from "../base/loopback.ts";
import { check } from "../http/check.ts";

export interface OidcSettings {
  readonly provider: ProviderSettings;
  readonly roles: readonly GroupRole[];
  /** The provider tells of each logout, so that sessions may live longer without asking it again. */
  readonly backchannelLogout: boolean;
}

const ROLES_MAX = 100;
const claim = Type.String({ pattern: "^[A-Za-z0-9_.:/-]{1,128}$" });
const place = Type.String({ minLength: 1, maxLength: 1024 });

const FileSchema = Type.Object(
  {
    issuer: place,
    client_id: Type.String({ minLength: 1, maxLength: 255 }),
    client_secret_file: Type.Optional(place),
    public_url: place,
    scopes: Type.Optional(
      Type.Array(Type.String({ pattern: "^[!#-\\[\\]-~]{1,128}$" }), { minItems: 1, maxItems: 32 }),
    ),
    groups_claim: Type.Optional(claim),
    name_claim: Type.Optional(claim),
    roles: Type.Array(
      Type.Object(
        { group: Type.String({ minLength: 1, maxLength: 255 }), ...GrantedRoleSchema.properties },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: ROLES_MAX },
    ),
    ca_file: Type.Optional(place),
    backchannel_logout: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
type File = Static<typeof FileSchema>;

/** Throws an Error whose message says what is wrong, and nothing of what a secret file holds. */
export function readOidcFile(path: string): OidcSettings {
  const file = parse(readText(path));
  const near = (other: string) => resolve(dirname(path), other);
  if (!anybodyHas(file.roles)) {
    throw new Error("/roles: nobody can be a runner so, nor a platform-admin of one customer");
  }
  const scopes = file.scopes ?? ["openid", "profile"];
  if (!scopes.includes("openid")) throw new Error("/scopes: openid is missing");
  return {
    provider: {
      issuer: address("/issuer", file.issuer).href,
      clientId: file.client_id,
      clientSecret:
        file.client_secret_file === undefined ? null : readSecret(near(file.client_secret_file)),
      redirectUri: origin("/public_url", file.public_url) + ROUTES.ssoCallback.path,
      scopes,
      claims: {
        groups: file.groups_claim ?? "groups",
        name: file.name_claim ?? "preferred_username",
      },
      ca: file.ca_file === undefined ? null : readText(near(file.ca_file)),
    },
    roles: file.roles,
    backchannelLogout: file.backchannel_logout ?? false,
  };
}

function parse(text: string): File {
  try {
    return check(FileSchema, parseStrict(text));
  } catch (error) {
    if (!(error instanceof AimError)) throw error;
    const { at, code } = error;
    if (code === "unknown_field")
      throw new Error(`${at}: there is no such field`, { cause: error });
    if (code !== "invalid_request") throw new Error(error.message, { cause: error });
    throw new Error(`${at}: is missing or cannot be so`, { cause: error });
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`${path} cannot be read`, { cause: error });
  }
}

function readSecret(path: string): string {
  const secret = readText(path).trim();
  if ((statSync(path).mode & 0o077) !== 0)
    throw new Error(`${path} is open to others: chmod 600 it`);
  if (secret === "") throw new Error(`${path} is empty`);
  return secret;
}

function address(field: string, text: string): URL {
  const url = URL.parse(text);
  const plain = url?.username === "" && url.password === "" && url.search === "" && url.hash === "";
  const safe =
    url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url === null || !plain || !safe) {
    throw new Error(`${field}: takes https://HOST[:PORT]; http:// for this machine only`);
  }
  return url;
}

function origin(field: string, text: string): string {
  const url = address(field, text);
  if (url.pathname !== "/") throw new Error(`${field}: takes no path`);
  return url.origin;
}
