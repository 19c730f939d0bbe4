import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readOidcFile } from "./oidc-file.ts";
import { readSettings } from "./settings.ts";

const ROLE = { group: "ops", role: "operator", customer: "acme", job_types: null };
const LEAST = {
  issuer: "https://id.example/realm",
  client_id: "aim",
  public_url: "https://plane.example:8443",
  roles: [ROLE],
};

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "aim-oidc-"));
  writeFileSync(at("secret"), "a secret\n", { mode: 0o600 });
  writeFileSync(at("open"), "a secret\n");
  chmodSync(at("open"), 0o640);
  writeFileSync(at("empty"), "\n", { mode: 0o600 });
  writeFileSync(at("ca.pem"), "authority");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(file: unknown) {
  writeFileSync(at("oidc.json"), typeof file === "string" ? file : JSON.stringify(file));
  return readOidcFile(at("oidc.json"));
}

test("what is left out is what most providers want", () => {
  expect(read(LEAST)).toEqual({
    provider: {
      issuer: "https://id.example/realm",
      clientId: "aim",
      clientSecret: null,
      redirectUri: "https://plane.example:8443/v1/sso/callback",
      scopes: ["openid", "profile"],
      claims: { groups: "groups", name: "preferred_username" },
      ca: null,
    },
    roles: [ROLE],
    backchannelLogout: false,
  });
});

test("files stand beside it, and everything can be said otherwise", () => {
  const found = read({
    ...LEAST,
    issuer: "http://127.0.0.1:9000",
    public_url: "http://localhost:8080/",
    client_secret_file: "secret",
    ca_file: at("ca.pem"),
    scopes: ["openid", "groups"],
    groups_claim: "roles",
    name_claim: "email",
    backchannel_logout: true,
  });
  expect(found.provider).toMatchObject({
    clientSecret: "a secret",
    redirectUri: "http://localhost:8080/v1/sso/callback",
    scopes: ["openid", "groups"],
    claims: { groups: "roles", name: "email" },
    ca: "authority",
  });
  expect(found.backchannelLogout).toBe(true);
});

test.for<readonly [string, unknown, string]>([
  ["is no JSON", "nonsense", "The input is not one JSON object"],
  ["says a thing twice", '{"issuer":"a","issuer":"b"}', "stands twice"],
  ["has a field that nobody knows", { ...LEAST, secret: "x" }, "/secret: there is no such field"],
  ["leaves the client out", { ...LEAST, client_id: undefined }, "/client_id: is missing"],
  ["has no issuer of TLS", { ...LEAST, issuer: "http://id.example" }, "/issuer: takes https"],
  ["has a query", { ...LEAST, issuer: "https://id.example?x=1" }, "/issuer: takes https"],
  [
    "has a path of its own",
    { ...LEAST, public_url: "https://plane.example/aim" },
    "/public_url: takes no path",
  ],
  [
    "is served without TLS",
    { ...LEAST, public_url: "http://plane.example" },
    "/public_url: takes https",
  ],
  ["asks for no identity", { ...LEAST, scopes: ["profile"] }, "/scopes: openid is missing"],
  ["gives no role", { ...LEAST, roles: [] }, "/roles: is missing or cannot be so"],
  [
    "gives too many",
    { ...LEAST, roles: Array.from({ length: 101 }, () => ROLE) },
    "/roles: is missing",
  ],
  [
    "makes somebody a runner",
    { ...LEAST, roles: [{ ...ROLE, role: "runner" }] },
    "/roles: nobody can be",
  ],
  [
    "gives the platform to a customer",
    { ...LEAST, roles: [{ ...ROLE, role: "platform-admin" }] },
    "/roles: nobody",
  ],
  [
    "leaves the customer out",
    { ...LEAST, roles: [{ group: "g", role: "viewer", job_types: null }] },
    "/roles/0/customer",
  ],
  [
    "names a secret that is open",
    { ...LEAST, client_secret_file: "open" },
    "is open to others: chmod 600 it",
  ],
  ["names an empty secret", { ...LEAST, client_secret_file: "empty" }, "is empty"],
  ["names no secret that is there", { ...LEAST, client_secret_file: "nowhere" }, "cannot be read"],
  ["names no authority that is there", { ...LEAST, ca_file: "nowhere" }, "cannot be read"],
])("a file that %s is refused with that", ([, file, sentence]) => {
  expect(() => read(file)).toThrow(sentence);
});

test("a hundred roles are not too many", () => {
  const roles = Array.from({ length: 100 }, (_, index) => ({ ...ROLE, group: `g${index}` }));
  expect(read({ ...LEAST, roles }).roles).toHaveLength(100);
});

test("the option needs an address for clients, and says what is wrong with the file", () => {
  writeFileSync(at("oidc.json"), JSON.stringify(LEAST));
  const serve = (...more: string[]) =>
    readSettings(["--state", folder, "--oidc", at("oidc.json"), ...more], {});
  expect(() => serve()).toThrow("--oidc needs --listen");
  expect(serve("--listen", "127.0.0.1:8080").oidc?.provider.clientId).toBe("aim");
  writeFileSync(at("oidc.json"), JSON.stringify({ ...LEAST, extra: 1 }));
  expect(() => serve("--listen", "127.0.0.1:8080")).toThrow(
    "--oidc: /extra: there is no such field",
  );
});
