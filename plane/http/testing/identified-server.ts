// A server with some of the plane's routes, where a test says who asks.
import type { AddressInfo } from "node:net";
import Fastify, { type FastifyInstance } from "fastify";
import type { Principal } from "@aim/contract";
import { askWhoComes, LOCAL_DOOR, LOCAL_PRINCIPAL, type Door } from "../identity.ts";
import { sendProblem } from "../reply.ts";

export interface IdentifiedServer {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** Who asks is named in the header `test-principal`; whoever owns the installation asks without one. */
export async function openIdentifiedServer(
  principals: (name: string) => Principal,
  addRoutes: (app: FastifyInstance) => void,
): Promise<IdentifiedServer> {
  const app = Fastify({ forceCloseConnections: true, keepAliveTimeout: 1_000 });
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
  const identify: Door["identify"] = ({ headers }) => {
    const name = headers["test-principal"];
    return typeof name === "string" ? principals(name) : LOCAL_PRINCIPAL;
  };
  askWhoComes(app, { ...LOCAL_DOOR, identify });
  addRoutes(app);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => app.close() };
}
