// Where the end of a login in a browser reaches this command: one path on this machine's own loopback address, once.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AimError, isProblemCode } from "@aim/contract";
import { EXIT } from "./exit-codes.ts";
import { CliFault } from "./fault.ts";

export interface SsoListener {
  readonly port: number;
  /** The one-time code. Throws AimError for a login that was refused, CliFault 69 when nobody came. */
  readonly code: () => Promise<string>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

const CODE = /^[A-Za-z0-9_-]{43}$/;
const METHOD = "GET";
const PATH = "/";
const NOBODY_CAME = "The login in the browser did not end in time, so nothing was changed.";

type Came = { readonly code: string } | { readonly error: AimError };

/** Waits for so many milliseconds at most. */
export async function listenForCode(waitMs: number): Promise<SsoListener> {
  let settle: (came: Came | null) => void;
  const came = new Promise<Came | null>((resolve) => {
    settle = resolve;
  });
  const server = createServer((request, response) => {
    const found = cameBy(request);
    if (found === null)
      return answer(response, { status: 404, sentence: "There is nothing here." });
    const done = "code" in found ? "aimctl is logging in." : "aimctl was not logged in.";
    // The browser has its answer before the command goes on and closes.
    response.once("close", () => settle(found));
    answer(response, { status: 200, sentence: `${done} You can close this page.` });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const timer = setTimeout(() => settle(null), waitMs);
  return {
    port: (server.address() as AddressInfo).port,
    code: async () => {
      const found = await came;
      if (found === null) throw new CliFault(EXIT.unavailable, NOBODY_CAME);
      if ("error" in found) throw found.error;
      return found.code;
    },
    [Symbol.asyncDispose]: () => {
      clearTimeout(timer);
      return close(server);
    },
  };
}

/** Null for whatever else somebody asks of this port. */
function cameBy({ method, url = "" }: IncomingMessage): Came | null {
  const { pathname, searchParams } = new URL(url, "http://127.0.0.1");
  if (method !== METHOD || pathname !== PATH) return null;
  const [code, error] = [searchParams.get("code") ?? "", searchParams.get("error") ?? ""];
  if (CODE.test(code)) return { code };
  return isProblemCode(error) ? { error: new AimError(error) } : null;
}

interface Answer {
  readonly status: number;
  readonly sentence: string;
}

function answer(response: ServerResponse, { sentence, status }: Answer): void {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close",
  };
  response.writeHead(status, headers).end(`${sentence}\n`);
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
