// One try to bring one event to one callback: checked address, verified TLS, no redirect, little patience.
import { request as requestHttp, type IncomingMessage, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { isIPv4, type LookupFunction } from "node:net";
import { CALLBACK_CONTENT_TYPE, PRODUCT_VERSION, type DeliveryError } from "@aim/contract";
import { checkedAddresses, type AddressRules, type FoundAddress } from "./address.ts";
import { webhookHeaders } from "./signature.ts";

/** For everything: resolution, connection, and the answer. */
export const TRY_MS = 10_000;
const ANSWER_BYTES_MAX = 64 * 1024;

export interface Letter {
  readonly eventId: string;
  readonly url: string;
  readonly body: string;
}

export interface DeliverParts extends AddressRules {
  readonly secret: Uint8Array;
  /** The wall's milliseconds: the receiver compares with its own. */
  readonly wall: () => number;
  readonly timeoutMs?: number;
}

export interface Tried {
  readonly status: number | null;
  readonly error: DeliveryError | null;
}

export type Deliver = (letter: Letter) => Promise<Tried>;

/** A try never throws: whatever happens is one of the contract's errors. */
export function createDeliver(parts: DeliverParts): Deliver {
  return async (letter) => {
    const url = URL.parse(letter.url);
    if (url === null || !isUsable(url, parts.allowLoopback)) return failed("url_refused");
    const end = AbortSignal.timeout(parts.timeoutMs ?? TRY_MS);
    const checked = await Promise.race([checkedAddresses(url.hostname, parts), aborted(end)]);
    if (checked === null) return failed("timed_out");
    if (!checked.ok) return failed(checked.error);
    try {
      return judge(await post(url, letter, { parts, end, addresses: checked.addresses }));
    } catch (error) {
      return failed(end.aborted ? "timed_out" : connectionError(error));
    }
  };
}

/** Plain HTTP goes only to a loopback address that is written out. */
function isUsable(url: URL, allowHttp: boolean): boolean {
  if (url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return true;
  const { hostname } = url;
  const literal = hostname === "[::1]" || (isIPv4(hostname) && hostname.startsWith("127."));
  return url.protocol === "http:" && allowHttp && literal;
}

function failed(error: DeliveryError): Tried {
  return { status: null, error };
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}

function judge(status: number): Tried {
  if (status >= 200 && status < 300) return { status, error: null };
  return { status, error: status >= 300 && status < 400 ? "redirected" : "refused" };
}

function connectionError(error: unknown): DeliveryError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /CERT|SSL|TLS|SIGNATURE|EPROTO/.test(code) ? "tls_failed" : "unreachable";
}

interface Sending {
  readonly parts: DeliverParts;
  readonly end: AbortSignal;
  readonly addresses: readonly FoundAddress[];
}

/** Answers the status as soon as it is there: from then on the receiver has the event. */
function post(url: URL, letter: Letter, { parts, end, addresses }: Sending): Promise<number> {
  const body = Buffer.from(letter.body);
  const signed = { id: letter.eventId, now: parts.wall(), body: letter.body };
  const options: RequestOptions & { readonly rejectUnauthorized: true } = {
    method: "POST",
    // A connection of its own: a kept one could lead to an address of an earlier check.
    agent: false,
    lookup: pinned(addresses),
    signal: end,
    // Said here, so that no environment variable can switch it off.
    rejectUnauthorized: true,
    headers: {
      "content-type": CALLBACK_CONTENT_TYPE,
      "content-length": body.length,
      "user-agent": `aim/${PRODUCT_VERSION}`,
      ...webhookHeaders(parts.secret, signed),
    },
  };
  return new Promise((resolve, reject) => {
    const request = url.protocol === "https:" ? requestHttps : requestHttp;
    const outgoing = request(url, options, (incoming) => {
      passOver(incoming);
      resolve(incoming.statusCode ?? 0);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Only what was checked is connected to, whatever the name leads to by now. */
function pinned(addresses: readonly FoundAddress[]): LookupFunction {
  return (_, options, done) => {
    const [first] = addresses;
    if (options.all === true) done(null, [...addresses]);
    else if (first === undefined) done(new Error("no address"), "");
    else done(null, first.address, first.family);
  };
}

/** What a receiver answers is for nobody; it is read so that it can finish, up to a bound. */
function passOver(incoming: IncomingMessage): void {
  let bytes = 0;
  incoming.on("error", () => undefined);
  incoming.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > ANSWER_BYTES_MAX) incoming.destroy();
  });
}
