// Bounds against clients that take their time on purpose, for listeners that strangers can reach.
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyServerOptions } from "fastify";

const HEADERS_MS = 10_000;
const BODY_IDLE_MS = 60_000;
/** The whole of one request; the largest upload fits at 1 MiB/s. */
const REQUEST_MS = 600_000;
const LOOK_EVERY_MS = 1_000;
const LINGER_MS = 1_000;
const HEADER_BYTES_MAX = 16 * 1024;

export const SERVER_BOUNDS = {
  maxHeaderSize: HEADER_BYTES_MAX,
  headersTimeout: HEADERS_MS,
  requestTimeout: REQUEST_MS,
  connectionsCheckingInterval: LOOK_EVERY_MS,
} as const;

/** What cannot be read as HTTP is answered as shortly as possible. */
export const clientErrorHandler: NonNullable<FastifyServerOptions["clientErrorHandler"]> = (
  error,
  socket: Socket,
) => {
  const { code } = error as { code?: string };
  if (code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = STATUS[code ?? ""] ?? "400 Bad Request";
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\nCache-Control: no-store\r\n` +
      "X-Content-Type-Options: nosniff\r\n\r\n",
  );
  // Whoever goes on sending has heard enough.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
};

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/**
 * Ends a connection whose next request is not there in whole headers in time. Node's own check was seen to leave some of
 * several slow connections open.
 */
export function endSlowHeaders(app: FastifyInstance, tls: boolean): void {
  const timers = new WeakMap<Socket, NodeJS.Timeout>();
  const arm = (socket: Socket): void => {
    timers.set(socket, setTimeout(() => socket.destroy(), HEADERS_MS + LINGER_MS).unref());
  };
  app.server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
    arm(socket);
    socket.once("close", () => clearTimeout(timers.get(socket)));
  });
  app.server.on("request", ({ socket }, response) => {
    clearTimeout(timers.get(socket));
    timers.delete(socket);
    response.once("close", () => {
      if (!socket.destroyed) arm(socket);
    });
  });
}

/** A body that stands still ends its connection; an answer may take as long as it likes. */
export function endStalledBodies(app: FastifyInstance): void {
  app.addHook("onRequest", async ({ raw }) => {
    raw.setTimeout(BODY_IDLE_MS, () => raw.destroy());
  });
  app.addHook("preHandler", async ({ raw }) => {
    raw.setTimeout(0);
  });
}
