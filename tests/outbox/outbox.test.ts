import { readFileSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Delivery } from "@aim/contract";
import { aimctl } from "../../clients/cli/testing/run-aimctl.ts";
import { QUICK } from "../ending/stubborn.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { makeFolder, runRequest, startPlane, until, type TestPlane } from "../harness/plane.ts";
import { commandOf, descendantsOf } from "../harness/processes.ts";
import { expectedSignature, openReceiver, take, type Received, type Receiver } from "./receiver.ts";

const ALLOWED = ["--allow-callback-loopback", "--lease-ttl-s", "5"];
const ALL = ["attempt.accepted", "attempt.started", "attempt.ended"] as const;
const REQUEST = { customer: "acme", playbook: "site", hosts: ["one"] };
/** A delivery of a dead plane is due again after 15 s; the rest is patience with a busy machine. */
const RECOVERED_MS = 60_000;
const ROUNDS = process.env["AIM_TEST_LONG"] === "1" ? 10 : 1;

function writeCatalog(plane: TestPlane, url: string, events: readonly string[] = ALL): void {
  const site = { playbook: "site.yml", callbacks: [{ url, events }] };
  writeCustomer(plane.catalogDir, { playbooks: { site }, files: QUICK });
}

const ofRun = ({ received }: Receiver, runId: string) =>
  received.filter(({ event }) => event.subject === runId);

/** The first time that each event came. */
function firsts(received: readonly Received[]): Received[] {
  return received.filter(({ id }, index) => received.findIndex((one) => one.id === id) === index);
}

function expectGenuine(stateDir: string, received: readonly Received[]): void {
  const key = readFileSync(join(stateDir, "webhook.key"), "utf8");
  for (const one of received) {
    expect(one.id).toBe(one.event.id);
    expect(one.signature).toBe(expectedSignature(key, one));
    expect(Math.abs(Number(one.timestamp) - Date.now() / 1000)).toBeLessThan(300);
  }
  const bodies = new Set(received.map(({ body }) => body));
  expect(bodies.size).toBe(new Set(received.map(({ id }) => id)).size);
}

test("a receiver hears of a run once, in order, with signatures that hold", async () => {
  await using receiver = await openReceiver();
  await using plane = await startPlane({ arguments: ALLOWED });
  writeCatalog(plane, receiver.url);
  const { result } = await runRequest(plane.client, REQUEST);
  await until(10_000, () => receiver.received.length >= ALL.length);
  expectGenuine(plane.stateDir, receiver.received);
  expect(
    receiver.received.map(({ event }) => [event.type, event.sequence, event.data.state]),
  ).toEqual([
    ["aim.attempt.accepted.v1", "1", "queued"],
    ["aim.attempt.started.v1", "2", "running"],
    ["aim.attempt.ended.v1", "3", "succeeded"],
  ]);
  expect(receiver.received[2]?.event).toMatchObject({
    subject: result.run_id,
    data: { customer: "acme", effect: "complete", evidence: result.evidence, error: null },
  });
  await until(10_000, async () => {
    const found = await plane.client.deliveries();
    return found.length === ALL.length && found.every(({ state }) => state === "delivered");
  });
  expect(receiver.received).toHaveLength(ALL.length);
});

test("errors, silence and redirects are tried again, with the same id and the same bytes", async () => {
  await using receiver = await openReceiver();
  await using plane = await startPlane({ arguments: ALLOWED });
  writeCatalog(plane, receiver.url, ["attempt.ended"]);
  const answers = [
    (response: ServerResponse) => response.writeHead(500).end("no"),
    (response: ServerResponse) => response.writeHead(302, { location: receiver.url }).end(),
    // Says nothing until the plane's patience is over.
    () => undefined,
    (response: ServerResponse) => response.destroy(),
    (response: ServerResponse) => response.writeHead(200).end("thanks"),
  ];
  receiver.answer = (_, response) => void answers.shift()?.(response);
  const { result } = await runRequest(plane.client, REQUEST);
  const settled = (): Promise<readonly Delivery[]> => plane.client.deliveries("delivered");
  await until(RECOVERED_MS, async () => (await settled()).length === 1);
  expect(await settled()).toMatchObject([
    { run_id: result.run_id, tries: 5, last_status: 200, last_error: null, next_try_at: null },
  ]);
  expectGenuine(plane.stateDir, receiver.received);
  expect(receiver.received).toHaveLength(5);
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
});

/** Where a plane dies: at which event, and how far its delivery has come. */
const KILLS = [
  ["accepted", "sent, not answered"],
  ["accepted", "answered, not settled"],
  ["started", "sent, not answered"],
  ["ended", "sent, not answered"],
  ["ended", "answered, not settled"],
  ["ended", "stored, not sent"],
] as const;

/** Arms the receiver and the reader for one kill; answers once the plane has been killed. */
async function dieAt(
  [event, moment]: (typeof KILLS)[number],
  plane: TestPlane,
  receiver: Receiver,
): Promise<string> {
  const { pid = 0 } = plane.process;
  const runner = descendantsOf(pid).find((one) => commandOf(one).includes("runner/main.ts"));
  const killed = Promise.withResolvers<string>();
  const kill = (runId: string): void => {
    process.kill(pid, "SIGKILL");
    killed.resolve(runId);
  };
  receiver.answer = (one, response) => {
    const type = one.event.type;
    if (moment === "stored, not sent") {
      take(one, response);
      // Nothing of the end may leave: from here on nobody listens.
      receiver.down = type === "aim.attempt.started.v1";
    } else if (type !== `aim.attempt.${event}.v1`) take(one, response);
    else if (moment === "sent, not answered") kill(one.event.subject);
    else response.writeHead(204).end(() => kill(one.event.subject));
  };
  const { request, revision } = await plane.client.prepare(REQUEST);
  void (async () => {
    for await (const line of plane.client.execute({ request, revision })) {
      const ended = line.type === "response" && moment === "stored, not sent";
      if (ended) kill(line.response.run_id);
    }
  })().catch(() => undefined);
  const runId = await killed.promise;
  await plane.stop();
  // Its runner would end by itself; the test has no time for that.
  if (runner !== undefined && commandOf(runner) !== "") process.kill(runner, "SIGKILL");
  const came = ofRun(receiver, runId).map((one) => one.event.type);
  expect(came.includes("aim.attempt.ended.v1")).toBe(event === "ended" && !receiver.down);
  receiver.down = false;
  receiver.answer = take;
  return runId;
}

test("whenever a plane is killed, every event arrives after its restart, and never with another body", async () => {
  await using receiver = await openReceiver();
  const home = makeFolder("outbox");
  let plane = await startPlane({ home, arguments: ALLOWED });
  try {
    writeCatalog(plane, receiver.url);
    const runs: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const kill of KILLS) {
        const runId = await dieAt(kill, plane, receiver);
        runs.push(runId);
        plane = await startPlane({ home, arguments: ALLOWED });
        await until(RECOVERED_MS, () =>
          ofRun(receiver, runId).some(({ event }) => event.type === "aim.attempt.ended.v1"),
        );
      }
    }
    await until(RECOVERED_MS, async () => (await plane.client.deliveries("waiting")).length === 0);
    expectGenuine(plane.stateDir, receiver.received);
    for (const runId of runs) {
      const sequences = firsts(ofRun(receiver, runId)).map(({ event }) => Number(event.sequence));
      expect(sequences).toEqual(sequences.map((_, index) => index + 1));
    }
    const planned = runs.length * ALL.length;
    expect(receiver.received.length).toBeLessThanOrEqual(planned + runs.length);
  } finally {
    await plane.stop();
    rmSync(home, { recursive: true, force: true });
  }
});

test("what may not be reached is given up at once, seen, and sent when it is allowed and asked for", async () => {
  await using receiver = await openReceiver();
  const home = makeFolder("outbox");
  const strict = await startPlane({ home });
  try {
    const secure = `https://127.0.0.1:${receiver.port}/`;
    const callbacks = [receiver.url, secure].map((url) => ({ url, events: ["attempt.ended"] }));
    const site = { playbook: "site.yml", callbacks };
    writeCustomer(strict.catalogDir, { playbooks: { site }, files: QUICK });
    await runRequest(strict.client, REQUEST);
    await until(10_000, async () => (await strict.client.deliveries("dead")).length === 2);
    const dead = await strict.client.deliveries("dead");
    expect(dead.map((one) => [one.callback_index, one.last_error, one.tries])).toEqual([
      [0, "url_refused", 1],
      [1, "address_refused", 1],
    ]);
    expect(receiver.connections()).toBe(0);
    await strict.stop();
    await using plane = await startPlane({ home, arguments: ALLOWED });
    const words = ["--state", plane.stateDir];
    const listed = await aimctl(["deliveries", "--dead", ...words]);
    expect(listed).toMatchObject({ exit: 0, stderr: "" });
    expect(listed.stdout).toContain("url_refused");
    const event = dead[0]?.event_id ?? "";
    const replay = (...which: string[]) => aimctl(["deliveries", "replay", ...which, ...words]);
    expect(await replay(event, "0")).toMatchObject({ exit: 0 });
    await until(10_000, () => receiver.received.length === 1);
    expect(receiver.received[0]?.id).toBe(event);
    await until(10_000, async () => (await plane.client.deliveries("delivered")).length === 1);
    expect((await replay(event, "0")).stderr).toContain("not in a state");
    expect((await replay(event, "5")).exit).not.toBe(0);
    expect(await plane.client.deliveries("dead")).toMatchObject([{ callback_index: 1 }]);
  } finally {
    await strict.stop();
    rmSync(home, { recursive: true, force: true });
  }
});
