// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { Server, Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { EgressBroker } from "./egress.ts";
import { comesTrue, portOf } from "./testing/fixture.ts";

let directory = "";
let target: Server;
let port = 0;
const brokers: EgressBroker[] = [];

beforeEach(async () => {
  directory = mkdtempSync("/tmp/aim-eg-");
  target = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.pipe(socket);
  });
  target.listen(0, "127.0.0.1");
  await once(target, "listening");
  port = portOf(target);
});

afterEach(() => {
  for (const broker of brokers.splice(0)) broker.close();
  target.close();
  rmSync(directory, { recursive: true, force: true });
});

async function open(resolve?: (host: string) => Promise<readonly string[]>): Promise<EgressBroker> {
  const path = join(directory, `${brokers.length}.sock`);
  const broker = new EgressBroker({ path, connectTimeoutMs: 300, ...(resolve ? { resolve } : {}) });
  brokers.push(broker);
  await broker.listen();
  return broker;
}

async function ask(
  broker: EgressBroker,
  request: string,
): Promise<{ answer: string; socket: Socket }> {
  const socket = connect(broker.options.path);
  socket.on("error", () => undefined);
  socket.write(request);
  const [chunk] = await once(socket, "data");
  return { answer: String(chunk).trim(), socket };
}

const answer = async (broker: EgressBroker, host: string, to: number): Promise<string> => {
  const { answer: said, socket } = await ask(broker, `CONNECT ${host} ${to}\n`);
  socket.destroy();
  return said;
};

const tcp = (host: string, to: number) => ({ host, port: to, protocol: "tcp" as const });

test("before the rules are set everything is denied, and they are set once", async () => {
  const broker = await open();
  expect(await answer(broker, "127.0.0.1", port)).toBe("ERR denied");
  broker.allow([tcp("127.0.0.1", port)]);
  expect(await answer(broker, "127.0.0.1", port)).toBe("OK");
  expect(() => {
    broker.allow([]);
  }).toThrow("once");
});

test("only the listed host and port pass, however the host is spelled", async () => {
  const broker = await open(() => Promise.resolve(["127.0.0.1"]));
  broker.allow([tcp("127.0.0.1", port), tcp("Target.Example", port)]);
  expect(await answer(broker, "127.0.0.1", port)).toBe("OK");
  expect(await answer(broker, "::ffff:127.0.0.1", port)).toBe("OK");
  expect(await answer(broker, "127.0.0.1", port + 1)).toBe("ERR denied");
  expect(await answer(broker, "127.0.0.2", port)).toBe("ERR denied");
  expect(await answer(broker, "other.example", port)).toBe("ERR denied");
});

test("a name that turns out to be loopback or metadata is denied, an address listed as such is not", async () => {
  for (const address of [
    "127.0.0.1",
    "::ffff:7f00:1",
    "169.254.169.254",
    "64:ff9b::7f00:1",
    "0.0.0.0",
  ]) {
    const broker = await open(() => Promise.resolve([address]));
    broker.allow([tcp("rebound.example", port)]);
    expect(await answer(broker, "rebound.example", port)).toBe("ERR denied");
    expect(broker.counters).toMatchObject({ allowed: 0, denied: 1 });
  }
});

test("a name is resolved once and stays what it was", async () => {
  let asked = 0;
  const broker = await open(() => {
    asked += 1;
    return Promise.resolve(asked === 1 ? ["192.0.2.1"] : ["127.0.0.1"]);
  });
  broker.allow([tcp("flip.example", port)]);
  await answer(broker, "flip.example", port);
  await answer(broker, "FLIP.example.", port);
  expect(asked).toBe(1);
});

test("a target that cannot be reached is told apart from one that is denied", async () => {
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const closed = portOf(free);
  free.close();
  await once(free, "close");
  const lost = Object.assign(new Error("x"), { code: "ENOTFOUND" });
  const broker = await open(() => Promise.reject(lost));
  broker.allow([tcp("127.0.0.1", closed), tcp("lost.example", port)]);
  expect(await answer(broker, "127.0.0.1", closed)).toBe("ERR refused");
  expect(await answer(broker, "lost.example", port)).toBe("ERR unknown_host");
  expect(broker.counters).toMatchObject({ allowed: 0, denied: 0, failed: 2 });
});

test.each([
  "GET / HTTP/1.0\r\n",
  "CONNECT a\n",
  "CONNECT a 0\n",
  "CONNECT a 99999\n",
  "CONNECT a 1\nCONNECT",
  "CONNECT a;b 1\n",
  `CONNECT ${"a".repeat(400)}`,
])("%j is no request", async (request) => {
  const broker = await open();
  broker.allow([]);
  const { answer: said } = await ask(broker, request);
  expect(said).toBe("ERR bad_request");
});

test("bytes pass both ways, are counted, and an end on one side reaches the other", async () => {
  const broker = await open();
  broker.allow([tcp("127.0.0.1", port)]);
  const { socket } = await ask(broker, `CONNECT 127.0.0.1 ${port}\n`);
  const payload = Buffer.alloc(3_000_000, "x");
  let back = 0;
  socket.on("data", (chunk: Buffer) => {
    back += chunk.byteLength;
  });
  socket.end(payload);
  await once(socket, "close");
  expect(back).toBe(payload.byteLength);
  expect(broker.counters).toMatchObject({ allowed: 1, bytesOut: back, bytesIn: back });
});

test("counts per destination are bounded, totals are not", async () => {
  const broker = await open();
  broker.allow([]);
  for (let at = 1; at <= 70; at += 1) await answer(broker, `h${at}.example`, at);
  const { denied, destinations, moreDestinations } = broker.counters;
  expect([denied, destinations.length, moreDestinations]).toEqual([70, 64, true]);
});

test("closing ends every connection that is open", async () => {
  const broker = await open();
  broker.allow([tcp("127.0.0.1", port)]);
  const { socket } = await ask(broker, `CONNECT 127.0.0.1 ${port}\n`);
  broker.close();
  expect(
    await comesTrue(() => socket.destroyed || socket.readableEnded || socket.closed, 2_000),
  ).toBe(true);
});
