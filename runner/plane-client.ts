// The runner's side of the runner protocol: over a local socket, or over HTTPS with a token. Follows no redirect.
import {
  request as requestLocally,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as requestSafely } from "node:https";
import {
  AimError,
  isProblemCode,
  pathOf,
  ROUTES,
  type Completion,
  type Credentials,
  type EventBatch,
  type Grant,
  type Heartbeat,
  type HeartbeatAnswer,
  type Move,
  type Register,
  type Registered,
  type RouteName,
  type Uploaded,
} from "@aim/contract";

const ANSWER_BYTES_MAX = 128 * 1024 * 1024;
const CALL_TIMEOUT_MS = 10_000;

interface Call {
  readonly route: RouteName;
  readonly values?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly bytes?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Instead of the session's. */
  readonly token?: string | null;
}

/** A part of an artifact, and where it stands in it. */
export interface Chunk {
  readonly sha256: string;
  readonly epoch: number;
  readonly bytes: Uint8Array;
  readonly from: number;
  /** Bytes of the whole artifact. */
  readonly total: number;
}

export type PlaneClient = ReturnType<typeof createPlaneClient>;

export type Connection =
  | { readonly socketPath: string }
  /** Certificates are PEM; the server's must be made by one of them and name the host. */
  | { readonly host: string; readonly port: number; readonly ca: readonly string[] };

/** Every call rejects with AimError for a refusal and with another Error when the plane does not answer. */
export function createPlaneClient(connection: Connection, token: () => string | null = () => null) {
  const send = (call: Call) => exchange(connection, { token: token(), ...call });

  async function json<T>(call: Call): Promise<T> {
    const answer = await send(call);
    if (answer.status === 204) return null as T;
    if (answer.status >= 300 && answer.status < 400)
      throw new Error("the plane names another place");
    const parsed = JSON.parse(answer.body.toString()) as {
      response?: T;
      error?: { code: string; at?: string };
    };
    if (answer.status >= 400 || parsed.error !== undefined) {
      const code = parsed.error?.code;
      throw new AimError(isProblemCode(code) ? code : "internal", parsed.error?.at);
    }
    return parsed.response as T;
  }

  const attempt = (run_id: string) => ({ values: { run_id } });

  return {
    /** A remote runner names its enrolment token, or the session that is to be renewed. */
    register: (body: Register, token: string | null) =>
      json<Registered>({ route: "register", body, token }),
    claim: (
      body: { runner_instance_id: string; claim_id: string; wait_ms: number },
      signal: AbortSignal,
    ) =>
      json<Grant | null>({
        route: "claim",
        body,
        signal,
        timeoutMs: body.wait_ms + CALL_TIMEOUT_MS,
      }),
    heartbeat: (id: string, body: Heartbeat, timeoutMs = CALL_TIMEOUT_MS) =>
      json<HeartbeatAnswer>({ route: "heartbeat", ...attempt(id), body, timeoutMs }),
    move: (id: string, body: Move) =>
      json<HeartbeatAnswer>({ route: "move", ...attempt(id), body }),
    events: (id: string, body: EventBatch) => json({ route: "events", ...attempt(id), body }),
    takeCredentials: (id: string, epoch: number) =>
      json<Credentials>({ route: "take", ...attempt(id), body: { epoch } }),
    complete: (id: string, body: Completion) =>
      json<{ state: string }>({ route: "complete", ...attempt(id), body }),
    inspected: (inspection_id: string, body: { runner_instance_id: string; inspection: unknown }) =>
      json({ route: "inspected", values: { inspection_id }, body }),
    upload: (run_id: string, chunk: Chunk) =>
      json<Uploaded>({
        route: "upload",
        values: { run_id, sha256: chunk.sha256 },
        bytes: chunk.bytes,
        headers: { "aim-epoch": String(chunk.epoch), "content-range": rangeOf(chunk) },
      }),
    blob: async (sha256: string): Promise<Buffer> => {
      const answer = await send({ route: "blob", values: { sha256 } });
      if (answer.status !== 200) throw new AimError("not_found");
      return answer.body;
    },
  };
}

/** An empty artifact has no byte to name. */
function rangeOf({ bytes, from, total }: Chunk): string {
  const place = bytes.length === 0 ? "*" : `${from}-${from + bytes.length - 1}`;
  return `bytes ${place}/${total}`;
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

function exchange(connection: Connection, call: Call): Promise<Answer> {
  const bytes =
    call.bytes ?? (call.body === undefined ? null : Buffer.from(JSON.stringify(call.body)));
  const options: RequestOptions = {
    method: ROUTES[call.route].method,
    path: pathOf(call.route, call.values),
    timeout: call.timeoutMs ?? CALL_TIMEOUT_MS,
    ...(call.signal === undefined ? {} : { signal: call.signal }),
    headers: {
      ...call.headers,
      ...(typeof call.token === "string" ? { authorization: `Bearer ${call.token}` } : {}),
      ...(bytes === null
        ? {}
        : {
            "content-type":
              call.bytes === undefined ? "application/json" : "application/octet-stream",
            "content-length": bytes.length,
          }),
    },
  };
  return new Promise((resolve, reject) => {
    const outgoing = requestOver(connection, options);
    outgoing.on("response", (incoming) => {
      readAll(incoming, () => outgoing.destroy(new Error("the plane's answer is too large"))).then(
        resolve,
        reject,
      );
    });
    outgoing.on("error", reject);
    outgoing.on("timeout", () => outgoing.destroy(new Error("the plane did not answer in time")));
    outgoing.end(bytes ?? undefined);
  });
}

function requestOver(connection: Connection, options: RequestOptions): ClientRequest {
  if ("socketPath" in connection) return requestLocally({ ...options, ...connection });
  const { host, port, ca } = connection;
  // Said here, so that no environment variable of Node's can switch the check off.
  const tls = { ca: [...ca], rejectUnauthorized: true, minVersion: "TLSv1.2" as const };
  return requestSafely({ ...options, ...tls, host, port });
}

function readAll(incoming: IncomingMessage, onTooLarge: () => void): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    incoming.on("data", (piece: Buffer) => {
      size += piece.length;
      pieces.push(piece);
      if (size > ANSWER_BYTES_MAX) onTooLarge();
    });
    incoming.on("error", reject);
    incoming.on("end", () =>
      resolve({ status: incoming.statusCode ?? 500, body: Buffer.concat(pieces) }),
    );
  });
}
