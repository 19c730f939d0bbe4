import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pathOf, type RunResult, type RunStatus } from "@aim/contract";
import { startRun, type Background } from "../harness/background.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { startPlane, type TestPlane } from "../harness/plane.ts";
import { eventsOf } from "../harness/plane.ts";

let plane: TestPlane;
// Long names make many bytes of few events: more than a socket holds for a reader that takes none.
const HOSTS = Array.from({ length: 20 }, (_, index) => `${"\u6a5f".repeat(220)}-${index}`);

beforeAll(async () => {
  plane = await startPlane();
  const tasks = Array.from({ length: 12 }, (_, index) => {
    const name = `Step ${index} ${"of many words ".repeat(12)}`.trim();
    return `    - name: ${name}\n      ansible.builtin.debug:\n        msg: x\n`;
  });
  writeCustomer(plane.catalogDir, {
    playbooks: { site: { playbook: "site.yml", forks: 20 } },
    files: {
      "inventory.ini": HOSTS.map((host) => `${host} ansible_connection=local\n`).join(""),
      "site.yml": `- name: Talk\n  hosts: all\n  gather_facts: false\n  tasks:\n${tasks.join("")}`,
    },
  });
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
});

function start(): Promise<Background> {
  return startRun(plane, { customer: "acme", playbook: "site", hosts: HOSTS });
}

/** Asks for a run's events and never reads a byte of the answer. */
async function openStalled(runId: string): Promise<Socket> {
  const socket = connect(plane.socketPath);
  // Before it is connected: a byte that Node has taken is a byte read.
  socket.pause();
  await once(socket, "connect");
  socket.write(`GET ${pathOf("runEvents", { run_id: runId })}?after=0 HTTP/1.1\r\nHost: x\r\n\r\n`);
  return socket;
}

async function timed(around: (runId: string) => Promise<void>) {
  const begun = performance.now();
  const run = await start();
  await around(run.runId);
  const result = await run.result;
  return { ms: performance.now() - begun, run, result };
}

test("readers that stall or vanish neither slow a run nor lose one of its events", async () => {
  const alone = await timed(async () => undefined);
  expect(alone.result.state).toBe("succeeded");
  const stalled: Socket[] = [];
  const watched = await timed(async (runId) => {
    for (let count = 0; count < 50; count += 1) stalled.push(await openStalled(runId));
    for (let count = 0; count < 50; count += 1) (await openStalled(runId)).destroy();
  });
  // The run is over while every one of them still waits.
  expect(stalled.every((socket) => !socket.destroyed && socket.bytesRead === 0)).toBe(true);
  for (const socket of stalled) socket.destroy();
  expect(watched.result.state).toBe("succeeded");
  expect(watched.ms).toBeLessThan(alone.ms * 2 + 2_000);
  for (const { run, result } of [alone, watched]) {
    expect(result.journal).toMatchObject({ lost: 0, stored: run.events.length });
    expect(eventsOf(run.events, "host_result")).toHaveLength(HOSTS.length * 12);
    expect(run.events.map(({ sequence }) => sequence)).toEqual(run.events.map((_, i) => i + 1));
  }
});

test("a reader that comes late or in pieces gets every event once and in order", async () => {
  const [newest] = await plane.client.runs();
  const runId = newest?.run_id ?? "";
  const { journal, state } = await plane.client.status(runId).then(resultOf);
  const seen: number[] = [];
  let end = "";
  while (end === "") {
    let taken = 0;
    for await (const line of plane.client.follow(runId, seen.at(-1) ?? 0)) {
      if (line.type === "response") end = line.response.state;
      else seen.push(line.event.sequence);
      taken += 1;
      if (taken === 70) break;
    }
  }
  expect(seen).toEqual(Array.from({ length: journal.stored }, (_, index) => index + 1));
  expect(end).toBe(state);
});

function resultOf({ result }: RunStatus): RunResult {
  if (result === null) throw new Error("the run has not ended");
  return result;
}
