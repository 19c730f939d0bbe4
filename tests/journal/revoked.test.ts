import { afterAll, beforeAll, expect, test } from "vitest";
import { pathOf, type GrantedRole, type Principal } from "@aim/contract";
import { can } from "../../plane/auth/can.ts";
import { until } from "../harness/plane.ts";
import { feed, openJournalPlane, type JournalPlane } from "./journal-plane.ts";

const LONG = process.env["AIM_TEST_LONG"] === "1";
const STREAMS = LONG ? 500 : 50;
/** Rights are looked at anew after this long at the latest. */
const ITERATION_MS = 1_000;

interface Standing {
  alive: boolean;
  roles: GrantedRole[];
}
const viewer: GrantedRole = { role: "viewer", customer: "acme", job_types: null };
const operator: GrantedRole = { role: "operator", customer: "acme", job_types: null };

const standings = new Map<string, Standing>();
const job = { owner: "u0", customer: "acme" };
let epoch = 0;

function principalOf(name: string): Principal {
  return { kind: "user", id: name, name, roles: standings.get(name)?.roles ?? [] };
}

let plane: JournalPlane;
beforeAll(async () => {
  plane = await openJournalPlane({
    principals: principalOf,
    readEpoch: () => async () => epoch,
    // As the plane asks: is the session alive, and what may its user do with this job now.
    stillMay:
      () =>
      async ({ id }) =>
        standings.get(id)?.alive === true && can(principalOf(id), "job.read", { ...job }),
  });
});
afterAll(() => plane[Symbol.asyncDispose]());

interface Watched {
  readonly name: string;
  /** Times at which the plane received what this reader was sent. */
  readonly received: number[];
  readonly frames: string[];
  readonly ended: Promise<void>;
}

async function watch(name: string, jobId: string): Promise<Watched> {
  const path = pathOf("journalStream", { job_id: jobId });
  const answer = await fetch(`${plane.url}${path}`, { headers: { "test-principal": name } });
  expect(answer.status).toBe(200);
  const received: number[] = [];
  const frames: string[] = [];
  const read = async (): Promise<void> => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) {
      const whole = (text + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n\n");
      text = whole.pop() ?? "";
      for (const frame of whole) {
        frames.push(frame.split("\n")[0] ?? "");
        const times = frame.matchAll(/"received_at":"([^"]+)"/g);
        for (const [, time = ""] of times) received.push(Date.parse(time));
      }
    }
  };
  return { name, received, frames, ended: read() };
}

/** What can end a right. */
const CHANGES: readonly ((name: string) => void)[] = [
  (name) => standings.set(name, { alive: false, roles: [viewer] }),
  (name) => standings.set(name, { alive: true, roles: [] }),
  (name) => standings.set(name, { alive: true, roles: [operator] }),
  (name) => standings.set(name, { alive: true, roles: [{ ...viewer, customer: "other" }] }),
];

test.for([
  ["the epoch tells of it", true],
  ["only the next look finds it", false],
] as const)(
  "nothing is written to a stream whose right has ended, and it ends: %s",
  async ([, told]) => {
    standings.clear();
    job.owner = "u0";
    const running = await plane.startJob("u0");
    const names = Array.from({ length: STREAMS }, (_, at) => `u${at}`);
    for (const name of names) standings.set(name, { alive: true, roles: [viewer] });
    // The first one reads what it owns, and will own it no longer.
    standings.set("u0", { alive: true, roles: [operator] });
    const watched = await Promise.all(names.map((name) => watch(name, running.jobId)));
    let sequence = 0;
    const next = async () => {
      sequence += 1;
      await feed(plane, running, { from: sequence, to: sequence });
    };
    await next();
    await until(30_000, () => watched.every(({ received }) => received.length > 0));

    const changed = new Map<string, number>();
    for (const [at, name] of names.entries()) {
      await next();
      // One keeps its right to the end.
      if (at === names.length - 1) continue;
      const change = at === 0 ? null : CHANGES[at % CHANGES.length];
      if (change === null) job.owner = "somebody";
      else change?.(name);
      if (told) epoch += 1;
      changed.set(name, Date.now());
    }
    const deadline = Date.now() + ITERATION_MS + 500;
    while (Date.now() < deadline) await next();
    await plane.end(running, sequence);
    await Promise.all(watched.map(({ ended }) => ended));

    const late = watched.flatMap(({ name, received }) => {
      const last = received.at(-1) ?? 0;
      return last > (changed.get(name) ?? Infinity) + ITERATION_MS ? [name] : [];
    });
    expect(late).toEqual([]);
    const ends = watched.map(({ frames, name }) => [name, frames.at(-1)]);
    const wanted = names.map((name) => [name, changed.has(name) ? "event: reset" : "event: end"]);
    expect(ends).toEqual(wanted);
    expect(watched.at(-1)?.received).toHaveLength(sequence + 1);
  },
);
