// A port on loopback that counts who comes, for tests that must show that nobody did.
import { once } from "node:events";
import { createServer } from "node:net";

export interface Listener {
  readonly port: number;
  readonly connections: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/** Listens on 127.0.0.1, counts each connection and ends it at once. */
export async function openListener(): Promise<Listener> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on("error", () => undefined);
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  return {
    port: address.port,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  await using listener = await openListener();
  return listener.port;
}
