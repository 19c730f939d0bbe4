// `aimctl login|logout|whoami` and `context list|use`: a token for this machine, kept in a private file.
import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { pathOf, SSO_TOKEN_TTL_S_MAX, type LoggedIn, type Login } from "@aim/contract";
import { createClient, isAimError, isClientError, type Client } from "@aim/sdk";
import { addressOf, checkUrl, connect, contextOf, LOCAL_CONTEXT } from "../connection.ts";
import { forgetContext, keepContext, readContexts, writeContexts } from "../contexts.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { tableLines } from "../render/table.ts";
import { wholeSeconds } from "../render/time.ts";
import { roleText } from "../roles.ts";
import { ask, askSecret, isTerminal } from "../run/terminal-input.ts";
import { listenForCode } from "../sso-listener.ts";
import { userName, type GlobalFlags, type OutputFlags } from "../settings.ts";

export interface LoginFlags extends GlobalFlags {
  readonly name?: string;
  readonly setup?: string;
  readonly sso?: true;
  readonly ttl: number;
}

export async function login(flags: LoginFlags): Promise<ExitCode> {
  const place = placeOf(flags);
  const client = createClient(addressOf({ ...place, token: null }));
  const token = { name: machineName(), ttl_s: flags.ttl };
  const entered =
    flags.sso === true
      ? await byBrowser(client, place, token)
      : await byPassword(client, flags, token);
  keep(flags.context ?? new URL(place.url).host, place, entered);
  return EXIT.ok;
}

async function byPassword(client: Client, flags: LoginFlags, token: Token): Promise<LoggedIn> {
  if (!isTerminal()) {
    throw new CliFault(EXIT.usage, "This is not a terminal, so nobody can type a password.");
  }
  if (flags.setup === undefined) return client.login(await credentials(flags, token));
  return client.setup({
    code: flags.setup,
    password: await newPassword(),
    token,
    ...(flags.name === undefined ? {} : { name: flags.name }),
  });
}

const BROWSER_MS = 5 * 60_000;

/** Only this command knows the verifier: whoever sees the address or the code can do nothing with it. */
async function byBrowser(client: Client, { url }: Place, token: Token): Promise<LoggedIn> {
  if ((token.ttl_s ?? 0) > SSO_TOKEN_TTL_S_MAX) {
    throw new CliFault(
      EXIT.usage,
      `With --sso a token lives ${SSO_TOKEN_TTL_S_MAX} seconds at most.`,
    );
  }
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  await using listener = await listenForCode(BROWSER_MS);
  const query = new URLSearchParams({ port: String(listener.port), challenge });
  process.stderr.write(
    `Open this address in a browser on this machine:\n  ${visible(url)}${pathOf("ssoStart")}?${query.toString()}\n`,
  );
  return client.redeemSso({ code: await listener.code(), verifier, token });
}

interface Place {
  readonly url: string;
  readonly ca: string | null;
}

/** Where to log in: the named plane, else the one of the named or current context. */
function placeOf(flags: LoginFlags): Place {
  const { current, contexts } = readContexts();
  const known = contexts[flags.context ?? current ?? ""];
  const asked = flags.url ?? known?.url;
  if (asked === undefined) {
    throw new CliFault(EXIT.usage, "Say which plane: aimctl login --url https://HOST[:PORT]");
  }
  const url = checkUrl(asked);
  const knownCa = known?.url === url ? known.ca : null;
  return { url, ca: flags.ca === undefined ? knownCa : resolve(flags.ca) };
}

type Token = NonNullable<Login["token"]>;

async function credentials(flags: LoginFlags, token: Token): Promise<Login> {
  const name = flags.name ?? (await nameTyped());
  return { name, password: await askSecret("Password: "), token };
}

async function nameTyped(): Promise<string> {
  const suggestion = userName();
  const typed = (await ask(`Name [${visible(suggestion)}]: `)).trim();
  return typed === "" ? suggestion : typed;
}

async function newPassword(): Promise<string> {
  const password = await askSecret("New password: ");
  if ((await askSecret("Once more: ")) === password) return password;
  throw new CliFault(EXIT.usage, "The two are not the same, so nothing was changed.");
}

function machineName(): string {
  const host = hostname().replaceAll(/[^A-Za-z0-9._-]/g, "");
  return `aimctl ${host}`.slice(0, 63).trim();
}

function keep(name: string, place: Place, { principal, token, expires_at }: LoggedIn): void {
  if (token === null) throw new CliFault(EXIT.other, "The plane gave no token.");
  if (name === LOCAL_CONTEXT) throw new CliFault(EXIT.usage, "The name local is taken.");
  keepContext(name, { ...place, user: principal.name, token, expires_at });
  const until = wholeSeconds(expires_at);
  process.stdout.write(
    `Logged in to ${visible(place.url)} as ${visible(principal.name)} until ${visible(until)}. ` +
      `Context ${visible(name)} is the current one.\n`,
  );
}

export async function logout(flags: GlobalFlags): Promise<ExitCode> {
  const name = flags.context ?? readContexts().current;
  if (name === null || name === LOCAL_CONTEXT) {
    throw new CliFault(EXIT.usage, "There is no login: the plane of this machine asks for none.");
  }
  const client = createClient(addressOf(contextOf(name)));
  try {
    await client.logout();
  } catch (error) {
    // What is over already needs no end; what cannot be reached must not be forgotten as if it were.
    if (isClientError(error)) {
      throw new CliFault(EXIT.unavailable, "The plane does not answer, so the token still lives.");
    }
    if (!isAimError(error) || error.code !== "unauthenticated") throw error;
  }
  forgetContext(name);
  process.stdout.write(`Logged out of ${visible(name)}.\n`);
  return EXIT.ok;
}

export async function whoami(flags: OutputFlags): Promise<ExitCode> {
  const who = await connect(flags).whoAmI();
  const roles = who.roles.map((role) => `  ${visible(roleText(role))}`);
  const lines = [`${visible(who.name)} (${visible(who.kind)} ${visible(who.id)})`, ...roles];
  print(flags, who, () => lines);
  return EXIT.ok;
}

/** Never shows a token. */
export async function listContexts(flags: OutputFlags): Promise<ExitCode> {
  const { current, contexts } = readContexts();
  const found = Object.entries(contexts).map(([name, { url, user, expires_at }]) => {
    return { name, url, user, expires_at, current: name === current };
  });
  const local = {
    name: LOCAL_CONTEXT,
    url: "",
    user: "",
    expires_at: "",
    current: current === null,
  };
  const rows = [local, ...found].map((one) => [
    one.current ? "*" : "",
    one.name,
    one.url,
    one.user,
    wholeSeconds(one.expires_at),
  ]);
  print(flags, [local, ...found], () =>
    tableLines(["", "CONTEXT", "URL", "USER", "EXPIRES"], rows),
  );
  return EXIT.ok;
}

export async function chooseContext(name: string): Promise<ExitCode> {
  if (name !== LOCAL_CONTEXT) contextOf(name);
  writeContexts({ ...readContexts(), current: name === LOCAL_CONTEXT ? null : name });
  process.stdout.write(`Context ${visible(name)} is the current one.\n`);
  return EXIT.ok;
}
