// `aimctl users`: who may come in and with which roles. Nobody types another's password: a one-time code lets them choose.
import type { UserCode, UserView } from "@aim/contract";
import type { Client } from "@aim/sdk";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { tableLines } from "../render/table.ts";
import { wholeSeconds } from "../render/time.ts";
import { parseRole, roleText } from "../roles.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";

export interface RoleFlags extends GlobalFlags {
  readonly role?: readonly string[];
}

export async function listUsers(flags: OutputFlags): Promise<ExitCode> {
  const found = await connect(flags).users();
  print(flags, found, table);
  return EXIT.ok;
}

function table(users: readonly UserView[]): string[] {
  if (users.length === 0) return ["No user."];
  const rows = users.map((user) => [
    user.name,
    stateOf(user),
    user.roles.map(roleText).join(" "),
    user.user_id,
  ]);
  return tableLines(["NAME", "STATE", "ROLES", "USER"], rows);
}

function stateOf(user: UserView): string {
  if (user.disabled) return "disabled";
  if (user.issuer !== null) return "from elsewhere";
  return user.has_password ? "enabled" : "waits for a password";
}

export async function addUser(name: string, flags: RoleFlags): Promise<ExitCode> {
  const roles = (flags.role ?? []).map(parseRole);
  sayCode(await connect(flags).createUser({ name, roles }));
  return EXIT.ok;
}

export async function setEnabled(
  name: string,
  enabled: boolean,
  flags: GlobalFlags,
): Promise<ExitCode> {
  const client = connect(flags);
  await client.changeUser(await idOf(client, name), { disabled: !enabled });
  process.stdout.write(`${visible(name)} is ${enabled ? "enabled" : "disabled"}.\n`);
  return EXIT.ok;
}

export async function setRoles(name: string, flags: RoleFlags): Promise<ExitCode> {
  const roles = (flags.role ?? []).map(parseRole);
  const client = connect(flags);
  await client.changeUser(await idOf(client, name), { roles });
  const words = roles.length === 0 ? "no role" : roles.map(roleText).join(" ");
  process.stdout.write(`${visible(name)} has ${visible(words)}.\n`);
  return EXIT.ok;
}

export async function resetPassword(name: string, flags: GlobalFlags): Promise<ExitCode> {
  const client = connect(flags);
  sayCode(await client.resetPassword(await idOf(client, name)));
  return EXIT.ok;
}

async function idOf(client: Client, name: string): Promise<string> {
  const found = (await client.users()).find((user) => user.name === name);
  if (found === undefined) throw new CliFault(EXIT.usage, `There is no user ${visible(name)}.`);
  return found.user_id;
}

function sayCode({ user, code, expires_at }: UserCode): void {
  const until = wholeSeconds(expires_at);
  process.stdout.write(
    `${visible(user.name)} chooses a password, until ${visible(until)}, with\n` +
      `  aimctl login --url https://HOST:PORT --setup ${visible(code)}\n`,
  );
}
