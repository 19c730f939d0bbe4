// Calls to the identity provider: bounded in time and size, no redirects, TLS except to this machine.
import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps, type RequestOptions } from "node:https";
import { isLoopback } from "../../base/loopback.ts";

const ANSWER_BYTES_MAX = 1024 * 1024;
const ANSWER_MS = 10_000;

interface Wish {
  readonly method?: string | undefined;
  readonly headers?: Headers | Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

export type ProviderFetch = (url: string, wish: Wish) => Promise<Response>;

/** `ca` is the authority that made the provider's certificate, as PEM; null for those that the machine trusts. */
export function createProviderFetch(ca: string | null): ProviderFetch {
  return async (text, { body, headers, method = "GET" }) => {
    const url = new URL(text);
    if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname))) {
      throw new TypeError("the address is neither https nor of this machine");
    }
    const sent = bytesOf(body);
    const options: RequestOptions = {
      method,
      agent: false,
      headers: {
        ...Object.fromEntries(new Headers(headers).entries()),
        ...(sent === undefined ? {} : { "content-length": sent.length }),
      },
      signal: AbortSignal.timeout(ANSWER_MS),
      // Said here, so that no environment variable can switch it off.
      rejectUnauthorized: true,
      ...(ca === null ? {} : { ca }),
    };
    const request = url.protocol === "https:" ? requestHttps : requestHttp;
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, options, resolve).on("error", reject).end(sent);
    });
    return responseOf(incoming);
  };
}

/** The libraries send forms and texts, never more. */
function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof URLSearchParams) return Buffer.from(body.toString());
  throw new TypeError("the body is neither a form nor a text");
}

async function responseOf(incoming: IncomingMessage): Promise<Response> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > ANSWER_BYTES_MAX) throw new TypeError("the answer is too large");
    pieces.push(piece);
  }
  const status = incoming.statusCode ?? 500;
  const type = incoming.headers["content-type"];
  return new Response(bytes === 0 ? null : Buffer.concat(pieces), {
    status,
    headers: type === undefined ? {} : { "content-type": type },
  });
}
