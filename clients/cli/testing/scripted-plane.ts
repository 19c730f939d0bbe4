// Not a plane: a server that answers with prepared lines, so that the client's own behaviour can be watched.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Reply {
  readonly status?: number;
  /** Objects go out as JSON, strings as they are; each gets a line feed. */
  readonly lines?: readonly unknown[];
  /** Bytes instead of lines. */
  readonly bytes?: Uint8Array;
  /** Milliseconds between two lines. */
  readonly pace?: number;
  /** After the lines: `end` (the default), `cut` the connection, or `hold` it open. */
  readonly finish?: "end" | "cut" | "hold";
}

interface Received {
  /** The operation's name, or method and path. */
  readonly what: string;
  readonly body: string;
}

export interface ScriptedPlane extends AsyncDisposable {
  readonly stateDir: string;
  readonly socketPath: string;
  readonly received: readonly Received[];
}

/** Replies by operation name or by `METHOD /path`; of several for one name each is used once, the last for ever. */
export type Script = Readonly<Record<string, Reply | readonly Reply[]>>;

export async function startScriptedPlane(script: Script): Promise<ScriptedPlane> {
  const stateDir = mkdtempSync(join(tmpdir(), "aim-scripted-"));
  const socketPath = join(stateDir, "aimd.sock");
  const received: Received[] = [];
  const used = new Map<string, number>();
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy());
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const what = nameOf(request, body);
    if (what !== "GET /healthz") received.push({ what, body });
    await send(response, nextReply(what));
  }

  function nextReply(what: string): Reply {
    const replies = [script[what] ?? { status: what === "GET /healthz" ? 200 : 404 }].flat();
    const index = used.get(what) ?? 0;
    used.set(what, index + 1);
    return replies[Math.min(index, replies.length - 1)] ?? {};
  }

  await listen(server, socketPath);
  return {
    stateDir,
    socketPath,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

export function eventLines(events: readonly unknown[]): unknown[] {
  return events.map((event) => ({ type: "event", event }));
}

export function responseLine(response: unknown): unknown {
  return { type: "response", response };
}

export function errorLine(code: string): unknown {
  return { type: "error", error: { code, message: "Not shown." } };
}

async function send(response: ServerResponse, reply: Reply): Promise<void> {
  response.writeHead(reply.status ?? 200, { "content-type": "application/x-ndjson" });
  response.flushHeaders();
  for (const line of reply.lines ?? []) {
    response.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
    if (reply.pace !== undefined) await new Promise((resolve) => setTimeout(resolve, reply.pace));
  }
  if (reply.finish === "hold") return;
  if (reply.finish !== "cut") response.end(reply.bytes);
  // What was written must leave before the connection does.
  else setTimeout(() => response.destroy(), 20);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString("utf8");
}

function nameOf(request: IncomingMessage, body: string): string {
  if (request.url === "/v1/operations") {
    const operation = /"operation"\s*:\s*"([a-z]+)"/.exec(body)?.[1];
    if (operation !== undefined) return operation;
  }
  return `${request.method} ${request.url}`;
}

function listen(server: Server, socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(socketPath, resolve);
  });
}
