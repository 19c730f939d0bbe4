import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createDeliver, type DeliverParts } from "./deliver.ts";

const BODY = '{"specversion":"1.0"}';
const EVENT = "evt_1";

async function listen(server: Server | ReturnType<typeof createTcpServer>) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      if ("closeAllConnections" in server) server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const answering = (listener: RequestListener) => listen(createServer(listener));

const deliver = (url: string, fields: Partial<DeliverParts> = {}) =>
  createDeliver({
    secret: Buffer.alloc(32, 1),
    wall: () => 1_000_000,
    allowLoopback: true,
    resolve: async (host) => [{ address: host, family: 4 }],
    timeoutMs: 2_000,
    ...fields,
  })({ eventId: EVENT, url, body: BODY });

test("the event is posted as it is stored, with its headers", async () => {
  const seen: unknown[] = [];
  await using receiver = await answering((request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => (body += piece.toString()));
    request.on("end", () => {
      const { method, url, headers } = request;
      seen.push({ method, url, body, id: headers["webhook-id"], type: headers["content-type"] });
      response.writeHead(204).end();
    });
  });
  const tried = await deliver(`http://127.0.0.1:${receiver.port}/hook?a=1`);
  expect(tried).toEqual({ status: 204, error: null });
  expect(seen).toEqual([
    {
      method: "POST",
      url: "/hook?a=1",
      body: BODY,
      id: EVENT,
      type: "application/cloudevents+json; charset=utf-8",
    },
  ]);
});

test("a redirect is a failure and is not followed", async () => {
  let others = 0;
  await using other = await answering((_, response) => {
    others += 1;
    response.end();
  });
  await using receiver = await answering((_, response) =>
    response.writeHead(307, { location: `http://127.0.0.1:${other.port}/` }).end(),
  );
  const tried = await deliver(`http://127.0.0.1:${receiver.port}/`);
  expect(tried).toEqual({ status: 307, error: "redirected" });
  expect(others).toBe(0);
});

test.for([400, 410, 429, 500, 503])("a status of %d is a failure", async (status) => {
  await using receiver = await answering((_, response) => response.writeHead(status).end("no"));
  expect(await deliver(`http://127.0.0.1:${receiver.port}/`)).toEqual({ status, error: "refused" });
});

test("a receiver that does not answer, and a name that does not resolve, cost no more than the time", async () => {
  await using receiver = await answering(() => undefined);
  const url = `http://127.0.0.1:${receiver.port}/`;
  const late = { status: null, error: "timed_out" };
  expect(await deliver(url, { timeoutMs: 100 })).toEqual(late);
  const resolve = () => new Promise<never>(() => undefined);
  expect(await deliver(url, { timeoutMs: 100, resolve })).toEqual(late);
});

test("an answer without end is cut, and was an answer", async () => {
  const closed = Promise.withResolvers<void>();
  await using receiver = await answering((_, response) => {
    response.on("close", () => closed.resolve());
    const more = (): void => {
      if (!response.destroyed) response.write(Buffer.alloc(16_384), () => setImmediate(more));
    };
    more();
  });
  const url = `http://127.0.0.1:${receiver.port}/`;
  expect(await deliver(url, { timeoutMs: 60_000 })).toEqual({ status: 200, error: null });
  await closed.promise;
});

test("what is connected to is what was checked, whatever the name says", async () => {
  let asked = 0;
  await using receiver = await answering((_, response) => response.end());
  const resolve = async () => {
    asked += 1;
    return [{ address: "127.0.0.1", family: 4 }];
  };
  // TLS to a plain receiver: that it was reached at all shows where the connection went.
  const tried = await deliver(`https://rebinding.invalid:${receiver.port}/`, { resolve });
  expect(tried).toEqual({ status: null, error: "tls_failed" });
  expect(asked).toBe(1);
});

test("a certificate that nobody vouches for ends the try before a byte is sent", async () => {
  const folder = mkdtempSync(join(tmpdir(), "aim-tls-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const args = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const name = ["-subj", "/CN=localhost", "-keyout", key, "-out", cert];
  execFileSync("openssl", ["req", "-x509", ...args, ...name], { stdio: "ignore" });
  let requests = 0;
  const options = { key: readFileSync(key), cert: readFileSync(cert) };
  await using receiver = await listen(
    createTlsServer(options, (_, response) => {
      requests += 1;
      response.end();
    }),
  );
  rmSync(folder, { recursive: true });
  const tried = await deliver(`https://127.0.0.1:${receiver.port}/`);
  expect(tried).toEqual({ status: null, error: "tls_failed" });
  expect(requests).toBe(0);
});

test("nothing is sent to what may not be reached", async () => {
  let connections = 0;
  await using receiver = await listen(
    createTcpServer((socket) => {
      connections += 1;
      socket.destroy();
    }),
  );
  const strict = { allowLoopback: false };
  const to = (url: string, fields: Partial<DeliverParts> = strict) =>
    deliver(url.replace("PORT", String(receiver.port)), fields);
  const refused = (error: string) => ({ status: null, error });
  expect(await to("http://127.0.0.1:PORT/")).toEqual(refused("url_refused"));
  expect(await to("https://127.0.0.1:PORT/")).toEqual(refused("address_refused"));
  expect(await to("https://u:p@127.0.0.1:PORT/", {})).toEqual(refused("url_refused"));
  expect(await to("http://example.com:PORT/", {})).toEqual(refused("url_refused"));
  expect(await to("http://127.evil.example:PORT/", {})).toEqual(refused("url_refused"));
  expect(await to("nonsense", {})).toEqual(refused("url_refused"));
  expect(connections).toBe(0);
  expect(await to("http://127.0.0.1:PORT/", {})).toEqual(refused("unreachable"));
  expect(connections).toBe(1);
});
