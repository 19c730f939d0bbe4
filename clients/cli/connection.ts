// Which plane a command speaks to: the one on this machine's own socket, or one elsewhere with a token.
import { readFileSync } from "node:fs";
import { createClient, type Address, type Client } from "@aim/sdk";
import { readContexts, requirePrivate, type Context } from "./contexts.ts";
import { EXIT } from "./exit-codes.ts";
import { CliFault } from "./fault.ts";
import { visible } from "./render/escape.ts";
import { places, tokenFile, type GlobalFlags } from "./settings.ts";

/** Name that stands for the plane on this machine's own socket. */
export const LOCAL_CONTEXT = "local";

/** A client of the plane that the flags, else the current context, name. */
export function connect(flags: GlobalFlags): Client {
  const remote = remoteOf(flags);
  if (remote === null) return createClient({ socketPath: places(flags).socketPath });
  const token = tokenFrom(tokenFile()) ?? remote.token;
  return createClient(addressOf({ ...remote, token }));
}

/** For a command that only the plane on this machine can serve. */
export function requireLocal(flags: GlobalFlags): void {
  if (flags.url === undefined && (flags.context ?? LOCAL_CONTEXT) === LOCAL_CONTEXT) return;
  throw new CliFault(EXIT.usage, "This command works on the plane of this machine only.");
}

type Remote = Pick<Context, "url" | "ca"> & { readonly token: string | null };

/** A flag beats the current context; a named socket or state folder beats it too. Null for the plane on this machine. */
function remoteOf(flags: GlobalFlags): Remote | null {
  if (flags.url !== undefined) return byUrl(flags.url, flags.ca ?? null);
  if (flags.context !== undefined) return byName(flags.context);
  if (flags.socket !== undefined || flags.state !== undefined) return null;
  const { current } = readContexts();
  return current === null ? null : byName(current);
}

function byUrl(text: string, ca: string | null): Remote {
  const url = checkUrl(text);
  const known = Object.values(readContexts().contexts).find((context) => context.url === url);
  return { url, ca: ca ?? known?.ca ?? null, token: known?.token ?? null };
}

function byName(name: string): Remote | null {
  return name === LOCAL_CONTEXT ? null : contextOf(name);
}

/** Throws CliFault 64 for a name that nobody logged in under. */
export function contextOf(name: string): Context {
  const found = readContexts().contexts[name];
  if (found === undefined) {
    throw new CliFault(EXIT.usage, `There is no context ${visible(name)}. Log in to make one.`);
  }
  return found;
}

/** The address as it is kept. Throws CliFault 64 for one over which a password must not go. */
export function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const loopback = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/.test(url?.hostname ?? "");
  const safe = url?.protocol === "https:" || (url?.protocol === "http:" && loopback);
  if (url === null || !safe || url.username !== "" || url.search !== "") {
    throw new CliFault(
      EXIT.usage,
      "--url takes https://HOST[:PORT]; http:// for this machine only.",
    );
  }
  return url.href.replace(/\/$/, "");
}

export function addressOf({ url, ca, token }: Remote): Address {
  return {
    url,
    ...(ca === null ? {} : { ca: readText(ca) }),
    ...(token === null ? {} : { headers: { authorization: `Bearer ${token}` } }),
  };
}

function tokenFrom(path: string | null): string | null {
  if (path === null) return null;
  requirePrivate(path);
  return readText(path).trim();
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new CliFault(EXIT.usage, `${visible(path)} cannot be read.`);
  }
}
