// Calls over a UNIX socket or TCP with node:http. The only part of the SDK that a browser cannot load.
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest, type RequestOptions as HttpsOptions } from "node:https";
import { ClientError } from "./client-error.ts";
import type { Answer, Call, Transport } from "./transport.ts";

export type Address =
  | { readonly socketPath: string }
  | {
      /** `http:` or `https:` address of a plane, with or without a path before `/v1`. */ readonly url: string;
      /** Sent with every call: a token stands in `authorization`. */
      readonly headers?: Readonly<Record<string, string>>;
      /** PEM of the authority that made the plane's certificate; the machine's own ones when absent. */
      readonly ca?: string;
    };

/** One connection for each call, closed with its answer: a held connection would keep the process alive. */
export function nodeTransport(address: Address): Transport {
  const { options, prefix, secure } = target(address);
  const more = "url" in address ? address.headers : {};
  return (call) =>
    new Promise((resolve, reject) => {
      const settings: RequestOptions = {
        ...options,
        agent: false,
        method: call.method,
        path: prefix + call.path,
        headers: { ...more, ...headers(call) },
      };
      if (call.signal !== undefined) settings.signal = call.signal;
      const send = secure ? httpsRequest : httpRequest;
      const outgoing = send(settings, (incoming) => resolve(answer(incoming)));
      outgoing.on("error", (error) => {
        reject(
          call.signal?.aborted === true ? error : new ClientError("unreachable", { cause: error }),
        );
      });
      outgoing.end(call.bytes ?? call.body);
    });
}

function target(address: Address): { options: HttpsOptions; prefix: string; secure: boolean } {
  if ("socketPath" in address) {
    return { options: { socketPath: address.socketPath }, prefix: "", secure: false };
  }
  const url = new URL(address.url);
  return {
    options: {
      hostname: url.hostname.replaceAll(/^\[|\]$/g, ""),
      port: url.port,
      ...(address.ca === undefined ? {} : { ca: address.ca }),
    },
    prefix: url.pathname.replace(/\/$/, ""),
    secure: url.protocol === "https:",
  };
}

function headers(call: Call): Record<string, string | number> {
  const accept = { accept: "application/json, application/x-ndjson", ...call.headers };
  const sent = call.bytes ?? call.body;
  if (sent === undefined) return accept;
  return {
    ...accept,
    "content-type": call.bytes === undefined ? "application/json" : "application/octet-stream",
    "content-length": Buffer.byteLength(sent),
  };
}

function answer(incoming: IncomingMessage): Answer {
  return { status: incoming.statusCode ?? 0, chunks: incoming };
}
