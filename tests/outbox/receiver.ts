// A receiver of callbacks on loopback, as a customer would write one: keeps what came, checks it, answers as it is told.
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CallbackEventSchema, type CallbackEvent } from "@aim/contract";
import { check } from "../../plane/http/check.ts";

export interface Received {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
  readonly event: CallbackEvent;
}

export interface Receiver {
  readonly url: string;
  readonly port: number;
  /** Everything that came, oldest first. */
  readonly received: readonly Received[];
  /** How the next requests are answered: with 204 unless told otherwise. */
  answer: (received: Received, response: ServerResponse) => void;
  /** A receiver that is down takes a connection and reads nothing. */
  down: boolean;
  readonly connections: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

export const take = (_: Received, response: ServerResponse): void => {
  response.writeHead(204).end();
};

export async function openReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("error", () => undefined);
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const body = Buffer.concat(pieces).toString("utf8");
      const header = (name: string) => String(request.headers[name]);
      const one: Received = {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
        body,
        // Throws for what the contract does not know.
        event: check(CallbackEventSchema, JSON.parse(body)),
      };
      received.push(one);
      receiver.answer(one, response);
    });
  });
  server.on("connection", (socket) => {
    connections += 1;
    socket.on("error", () => undefined);
    if (receiver.down) socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    port,
    url: `http://127.0.0.1:${port}/hook`,
    received,
    answer: take,
    down: false,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return receiver;
}

/** What the signature of a delivery must be, by the text of the specification. `key` is the file's content. */
export function expectedSignature(key: string, { id, timestamp, body }: Received): string {
  const secret = Buffer.from(key.trim().slice("whsec_".length), "base64");
  return `v1,${createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}
