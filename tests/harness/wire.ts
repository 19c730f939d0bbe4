// Speaks to a plane byte by byte, for tests of what no well-behaved client would send.
import { request } from "node:http";
import { API_VERSION, pathOf, type Problem, type WireLine } from "@aim/contract";

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
  readonly lines: readonly WireLine[];
}

export interface RawCall {
  readonly socketPath: string;
  readonly path?: string;
  readonly method?: string;
  readonly body?: string | Uint8Array;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The length that is announced instead of the body's own; null announces none and sends it in chunks. */
  readonly length?: number | null;
}

/** One call over the plane's socket, with exactly these bytes. Reads the answer to its end. */
export function call(what: RawCall): Promise<RawAnswer> {
  const { socketPath, body, contentType = "application/json" } = what;
  const path = what.path ?? pathOf("operations");
  const method = what.method ?? (body === undefined ? "GET" : "POST");
  const type = body === undefined ? {} : { "content-type": contentType };
  return new Promise((resolve, reject) => {
    const length = what.length === undefined ? Buffer.byteLength(body ?? "") : what.length;
    const headers = {
      ...type,
      ...what.headers,
      ...(length === null ? {} : { "content-length": length }),
    };
    const outgoing = request({ socketPath, path, method, agent: false, headers }, (incoming) => {
      // A server that refuses a body may close while it is still being sent.
      outgoing.off("error", reject).on("error", () => undefined);
      const pieces: Buffer[] = [];
      incoming.on("data", (piece: Buffer) => pieces.push(piece));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const text = Buffer.concat(pieces).toString();
        outgoing.destroy();
        resolve({ status: incoming.statusCode ?? 0, text, lines: linesOf(text) });
      });
    });
    outgoing.on("error", reject);
    if (body !== undefined) outgoing.write(body);
    // Announced bytes that are not there would be waited for.
    if (typeof what.length !== "number") outgoing.end();
  });
}

function linesOf(text: string): WireLine[] {
  return text.startsWith("{")
    ? text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as WireLine)
    : [];
}

/** The line of one operation, as `aimctl request` takes it. */
export function operationLine(operation: Record<string, unknown>): string {
  return JSON.stringify({ api_version: API_VERSION, ...operation });
}

/** The one problem of a refusal. Throws when the answer is anything else. */
export function problemOf({ lines, text }: RawAnswer): Problem {
  const [only, ...more] = lines;
  if (only?.type !== "error" || more.length > 0) throw new Error(`no refusal: ${text}`);
  return only.error;
}
