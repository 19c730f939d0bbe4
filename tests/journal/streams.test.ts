import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, type Client } from "@aim/sdk";
import { pathOf, type JournalMessage } from "@aim/contract";
import { createChance } from "../simulation/chance.ts";
import { until } from "../harness/plane.ts";
import { feed, openJournalPlane, type JournalPlane, type RunningJob } from "./journal-plane.ts";

const LONG = process.env["AIM_TEST_LONG"] === "1";
const EVENTS = 10_000;
const STEP = LONG ? 1 : 50;
const STALLED = LONG ? 100 : 20;
/** Enough of each connection to see that it goes on where it should. */
const READ = 250;
const FIRST = 1_000_000_000;

let plane: JournalPlane;
beforeAll(async () => {
  plane = await openJournalPlane({ streams: { each: 200, all: 512 } });
});
afterAll(() => plane[Symbol.asyncDispose]());

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

const sequencesOf = (message: JournalMessage): number[] =>
  message.name === "batch" ? message.data.records.map(({ event }) => event.sequence) : [];

async function endedJob(): Promise<RunningJob> {
  const job = await plane.startJob();
  await feed(plane, job, { from: 1, to: EVENTS });
  await plane.end(job, EVENTS);
  return job;
}

test("whoever reconnects at any cursor goes on right behind it, and the header beats the query", async () => {
  const job = await endedJob();
  const path = pathOf("journalStream", { job_id: job.jobId });
  for (let cursor = 1; cursor <= EVENTS; cursor += STEP) {
    const answer = await fetch(`${plane.url}${path}?after=${FIRST + EVENTS - cursor}`, {
      headers: { "last-event-id": String(FIRST + cursor) },
    });
    const seen: number[] = [];
    let text = "";
    for await (const chunk of answer.body ?? []) {
      text += new TextDecoder().decode(chunk as Uint8Array);
      const whole = text.split("\n\n");
      text = whole.pop() ?? "";
      for (const frame of whole) seen.push(...recordsOf(frame));
      if (seen.length >= READ) break;
    }
    // The plane's own result is the last of all.
    const last = Math.min(cursor + seen.length, EVENTS + 1);
    expect(seen).toEqual(numbers(cursor + 1, last));
    expect(seen.length).toBeGreaterThanOrEqual(Math.min(READ, EVENTS + 1 - cursor));
  }
});

function recordsOf(frame: string): number[] {
  const [event, id, data] = frame.split("\n");
  if (event !== "event: batch") return [];
  const { records } = JSON.parse(data?.slice("data: ".length) ?? "") as {
    records: { cursor: number; event: { sequence: number } }[];
  };
  expect(id).toBe(`id: ${records.at(-1)?.cursor ?? ""}`);
  expect(records.length).toBeLessThanOrEqual(200);
  return records.map((record) => record.event.sequence);
}

/** Passes bytes on and cuts each connection after some of them. */
async function openBadProxy(target: string, bytesUntilCut: () => number) {
  const { hostname, port } = new URL(target);
  let cuts = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    let left = bytesUntilCut();
    const cut = () => {
      near.destroy();
      far.destroy();
    };
    near.on("data", (bytes) => far.write(bytes));
    far.on("data", (bytes) => {
      near.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left > 0) return;
      cuts += 1;
      near.end();
      far.destroy();
    });
    for (const socket of [near, far]) socket.on("error", cut).on("close", cut);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    client: createClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
    cuts: () => cuts,
    close: () => server.close(),
  };
}

async function followAll(client: Client, jobId: string): Promise<JournalMessage[]> {
  const messages: JournalMessage[] = [];
  for await (const message of client.followJournal(jobId)) messages.push(message);
  return messages;
}

test("three readers behind a proxy that cuts at any byte see a live run whole and once", async () => {
  const seed = Number(process.env["AIM_SEED"] ?? Date.now() % 100_000);
  process.stdout.write(`journal streams: seed ${seed}\n`);
  const chance = createChance(seed);
  const job = await plane.startJob();
  const proxy = await openBadProxy(plane.url, () => 200_000 + Math.floor(chance.upTo(400_000)));
  try {
    const reading = [1, 2, 3].map(() => followAll(proxy.client, job.jobId));
    await feed(plane, job, { from: 1, to: EVENTS });
    await plane.end(job, EVENTS);
    for (const messages of await Promise.all(reading)) {
      expect(messages.flatMap(sequencesOf)).toEqual(numbers(1, EVENTS + 1));
      expect(messages.at(-1)).toEqual({ name: "end", data: { cursor: FIRST + EVENTS + 1 } });
      expect(messages.filter(({ name }) => name === "gap")).toEqual([]);
    }
    expect(proxy.cuts()).toBeGreaterThan(3);
  } finally {
    proxy.close();
  }
});

/** Asks for a stream and never reads a byte of it. */
async function openStalled(jobId: string): Promise<Socket> {
  const { hostname, port } = new URL(plane.url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  await once(socket, "connect");
  const path = pathOf("journalStream", { job_id: jobId });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return socket;
}

test("readers that take nothing hold up nobody", async () => {
  const job = await plane.startJob();
  const stalled: Socket[] = [];
  for (let count = 0; count < STALLED; count += 1) stalled.push(await openStalled(job.jobId));
  const reading = [1, 2].map(() => followAll(plane.client, job.jobId));
  await feed(plane, job, { from: 1, to: EVENTS });
  await plane.end(job, EVENTS);
  for (const messages of await Promise.all(reading)) {
    expect(messages.flatMap(sequencesOf)).toEqual(numbers(1, EVENTS + 1));
  }
  expect(stalled.every((socket) => !socket.destroyed && socket.bytesRead === 0)).toBe(true);
  for (const socket of stalled) socket.destroy();
});

test("one principal has six streams and no more until one of them ends", async () => {
  await using narrow = await openJournalPlane();
  const job = await narrow.startJob();
  const url = `${narrow.url}${pathOf("journalStream", { job_id: job.jobId })}`;
  const open = await Promise.all(
    [1, 2, 3, 4, 5, 6].map(async () => {
      const leaving = new AbortController();
      await fetch(url, { signal: leaving.signal });
      return leaving;
    }),
  );
  const refused = await fetch(url);
  expect(refused.status).toBe(429);
  expect(((await refused.json()) as { code: string }).code).toBe("too_many_streams");
  open[0]?.abort();
  const leaving = new AbortController();
  await until(10_000, async () => (await fetch(url, { signal: leaving.signal })).status === 200);
  for (const controller of [leaving, ...open]) controller.abort();
});
