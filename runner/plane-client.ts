// The runner's side of the runner protocol over a local socket.
import { request } from "node:http";
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
  type RouteName,
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
}

export type PlaneClient = ReturnType<typeof createPlaneClient>;

/** Every call rejects with AimError for a refusal and with another Error when the plane does not answer. */
export function createPlaneClient(socketPath: string) {
  async function json<T>(call: Call): Promise<T> {
    const answer = await exchange(socketPath, call);
    if (answer.status === 204) return null as T;
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
    register: (body: Register) => json<{ lease_ms: number }>({ route: "register", body }),
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
    heartbeat: (id: string, body: Heartbeat) =>
      json<HeartbeatAnswer>({ route: "heartbeat", ...attempt(id), body }),
    move: (id: string, body: Move) =>
      json<HeartbeatAnswer>({ route: "move", ...attempt(id), body }),
    events: (id: string, body: EventBatch) => json({ route: "events", ...attempt(id), body }),
    takeCredentials: (id: string, epoch: number) =>
      json<Credentials>({ route: "take", ...attempt(id), body: { epoch } }),
    complete: (id: string, body: Completion) =>
      json<{ state: string }>({ route: "complete", ...attempt(id), body }),
    inspected: (inspection_id: string, body: { runner_instance_id: string; inspection: unknown }) =>
      json({ route: "inspected", values: { inspection_id }, body }),
    upload: (run_id: string, artifact: { sha256: string; epoch: number; bytes: Uint8Array }) =>
      json({
        route: "upload",
        values: { run_id, sha256: artifact.sha256 },
        bytes: artifact.bytes,
        headers: { "aim-epoch": String(artifact.epoch) },
      }),
    blob: async (sha256: string): Promise<Buffer> => {
      const answer = await exchange(socketPath, { route: "blob", values: { sha256 } });
      if (answer.status !== 200) throw new AimError("not_found");
      return answer.body;
    },
  };
}

function exchange(socketPath: string, call: Call): Promise<{ status: number; body: Buffer }> {
  const bytes =
    call.bytes ?? (call.body === undefined ? null : Buffer.from(JSON.stringify(call.body)));
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        socketPath,
        method: ROUTES[call.route].method,
        path: pathOf(call.route, call.values),
        timeout: call.timeoutMs ?? CALL_TIMEOUT_MS,
        ...(call.signal === undefined ? {} : { signal: call.signal }),
        headers: {
          ...call.headers,
          ...(bytes === null
            ? {}
            : {
                "content-type":
                  call.bytes === undefined ? "application/json" : "application/octet-stream",
                "content-length": bytes.length,
              }),
        },
      },
      (incoming) => {
        const pieces: Buffer[] = [];
        let size = 0;
        incoming.on("data", (piece: Buffer) => {
          size += piece.length;
          pieces.push(piece);
          if (size > ANSWER_BYTES_MAX)
            outgoing.destroy(new Error("the plane's answer is too large"));
        });
        incoming.on("error", reject);
        incoming.on("end", () =>
          resolve({ status: incoming.statusCode ?? 500, body: Buffer.concat(pieces) }),
        );
      },
    );
    outgoing.on("error", reject);
    outgoing.on("timeout", () => outgoing.destroy(new Error("the plane did not answer in time")));
    outgoing.end(bytes ?? undefined);
  });
}
