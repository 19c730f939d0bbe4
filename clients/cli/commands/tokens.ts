// `aimctl tokens`: makes a token for a service, lists and revokes. A user's own tokens are made by logging in.
import type { MadeToken, TokenView } from "@aim/contract";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { tableLines } from "../render/table.ts";
import { wholeSeconds } from "../render/time.ts";
import { parseRole, roleText } from "../roles.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";

export interface CreateTokenFlags extends OutputFlags {
  readonly service?: string;
  readonly role?: readonly string[];
  readonly ttl: number;
}

export async function createToken(name: string, flags: CreateTokenFlags): Promise<ExitCode> {
  const made = await connect(flags).createToken({
    name,
    ttl_s: flags.ttl,
    ...(flags.service === undefined ? {} : { service: flags.service }),
    ...(flags.role === undefined ? {} : { roles: flags.role.map(parseRole) }),
  });
  say(made, flags);
  return EXIT.ok;
}

/** The token alone goes to stdout, so that it can go into a file. */
function say(made: MadeToken, flags: CreateTokenFlags): void {
  print(flags, made, ({ token }) => [token]);
  process.stderr.write("Keep it now: it is not shown again.\n");
}

export async function listTokens(flags: OutputFlags): Promise<ExitCode> {
  const found = await connect(flags).tokens();
  print(flags, found, table);
  return EXIT.ok;
}

function table(tokens: readonly TokenView[]): string[] {
  if (tokens.length === 0) return ["No token."];
  const rows = tokens.map((token) => [
    token.token_id,
    token.name,
    token.service ?? token.user_id ?? "",
    token.roles.map(roleText).join(" "),
    token.revoked_at === null ? wholeSeconds(token.expires_at) : "revoked",
    wholeSeconds(token.last_used_at ?? ""),
  ]);
  return tableLines(["TOKEN", "NAME", "OF", "ROLES", "EXPIRES", "LAST USED"], rows);
}

export async function revokeToken(id: string, flags: GlobalFlags): Promise<ExitCode> {
  await connect(flags).revokeToken(id);
  process.stdout.write(`${visible(id)} is revoked.\n`);
  return EXIT.ok;
}
