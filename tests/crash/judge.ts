// Compares what is stored with what the scripted sides were told. Answers every promise that was broken.
import { isTerminal, type AttemptState, type RunEvent } from "@aim/contract";
import type { Row } from "../harness/stored.ts";
import type { Received } from "../outbox/receiver.ts";
import { ALL_EVENTS } from "./scripted-client.ts";
import type { Told } from "./told.ts";

/** Answers the rows that a query finds. */
export type Rows = (query: string) => readonly Row[];

/** What is stored, past the plane, and the events as readers get them: `attempt_id`, `sequence`, `event` as text. */
export interface Found {
  readonly rows: Rows;
  readonly events: readonly Row[];
}

interface Stored extends Found {
  readonly attempts: ReadonlyMap<string, Row>;
  readonly told: Told;
}

export function judge(told: Told, found: Found): string[] {
  const attempts = found.rows("SELECT * FROM attempts");
  const byId = new Map(attempts.map((row) => [String(row["id"]), row]));
  const stored = { ...found, told, attempts: byId };
  const judges = [judgeJobs, judgeEnds, judgeHeartbeats, judgeEvents, judgeUsage, judgeGrants];
  return [...told.broken, ...judges.flatMap((one) => [...one(stored)])];
}

function* judgeJobs({ told, rows, attempts }: Stored): Iterable<string> {
  const jobs = new Map(
    rows("SELECT id, idempotency_key FROM jobs").map((row) => [row["idempotency_key"], row]),
  );
  if (jobs.size > told.jobs.size) yield `${jobs.size} jobs of ${told.jobs.size} keys`;
  for (const [key, { jobId, runId }] of told.jobs) {
    if (jobs.get(key)?.["id"] !== jobId) yield `job ${key} is not stored as ${jobId}`;
    if (attempts.get(runId)?.["job_id"] !== jobId) yield `attempt ${runId} of ${key} is not stored`;
  }
  if (attempts.size !== jobs.size) yield `${attempts.size} attempts of ${jobs.size} jobs`;
}

function* judgeEnds({ told, attempts }: Stored): Iterable<string> {
  for (const [id, row] of attempts) {
    const { state } = row;
    if (!isTerminal(state as AttemptState)) yield `${id} never ended: ${String(state)}`;
    const answered = told.ended.get(id);
    if (answered !== undefined && answered !== state) {
      yield `${id} was answered ${answered} and is ${String(state)}`;
    }
    // A stop that came after the end changes nothing.
    const stopped = row["cancel_requested_ms"] !== null || state !== "cancelled";
    if (!stopped) yield `${id} was stopped by nobody`;
    if (row["result"] === null) yield `${id} ended without a result`;
  }
  for (const id of [...told.ended.keys(), ...told.cancelled]) {
    if (!attempts.has(id)) yield `${id} is not stored`;
  }
}

function* judgeHeartbeats({ told, rows }: Stored): Iterable<string> {
  const beats = rows("SELECT attempt_id, epoch, seq FROM heartbeats");
  const stored = new Set(
    beats.map((row) => [row["attempt_id"], row["epoch"], row["seq"]].join(" ")),
  );
  for (const beat of told.heartbeats) if (!stored.has(beat)) yield `heartbeat ${beat} is lost`;
}

function* judgeEvents({ told, events: all, attempts }: Stored): Iterable<string> {
  const stored = new Map<string, Map<number, string>>();
  for (const row of all) {
    const [id, sequence] = [String(row["attempt_id"]), Number(row["sequence"])];
    const events = stored.get(id) ?? new Map<number, string>();
    stored.set(id, events);
    if (events.has(sequence)) yield `${id} has event ${sequence} twice`;
    events.set(sequence, String(row["event"]));
  }
  for (const [id, events] of told.events) {
    for (const [sequence, event] of events) {
      if (stored.get(id)?.get(sequence) !== event) yield `${id} lost event ${sequence}`;
    }
  }
  for (const id of attempts.keys()) yield* judgeStory(id, stored.get(id) ?? new Map());
}

/** Every event stands where its own sequence says, and the one result is the last. */
function* judgeStory(id: string, events: ReadonlyMap<number, string>): Iterable<string> {
  const told = [...events].map(([place, text]) => ({ place, ...(JSON.parse(text) as RunEvent) }));
  if (told.some(({ place, sequence }) => place !== sequence)) yield `${id} has misplaced events`;
  const results = told.filter(({ kind }) => kind === "result");
  if (results.length !== 1 || results[0] !== told.at(-1)) yield `${id} has ${results.length} ends`;
}

function* judgeUsage({ rows, attempts }: Stored): Iterable<string> {
  const usage = rows("SELECT attempt_id, state FROM usage");
  if (usage.length !== attempts.size) yield `${usage.length} usage rows of ${attempts.size}`;
  for (const row of usage) {
    const id = String(row["attempt_id"]);
    if (attempts.get(id)?.["state"] !== row["state"]) yield `${id} has the usage of another end`;
  }
}

/** One lease is one runner's, and nothing is handed out again by itself. */
function* judgeGrants({ told }: Stored): Iterable<string> {
  const holders = new Map<string, string>();
  for (const { attemptId, epoch, runner } of told.grants) {
    const holder = holders.get(attemptId) ?? runner;
    holders.set(attemptId, holder);
    if (holder !== runner || epoch !== 1) yield `${attemptId} was handed out twice`;
  }
}

/** Attempts that somebody is to hear of and has not; empty once every callback was told all. */
export function untold(rows: Rows, received: readonly Received[]): string[] {
  const came = new Set(received.map(({ event }) => `${event.subject} ${event.type}`));
  const planned = rows("SELECT id, ever_running FROM attempts").flatMap((row) =>
    ALL_EVENTS.filter((name) => name !== "attempt.started" || row["ever_running"] === 1).map(
      (name) => `${String(row["id"])} aim.${name}.v1`,
    ),
  );
  return planned.filter((one) => !came.has(one));
}

/** An event is the same whenever it comes, and no event of an attempt is left out. */
export function judgeCallbacks(received: readonly Received[]): string[] {
  const bodies = new Map<string, string>();
  const sequences = new Map<string, Set<number>>();
  const broken: string[] = [];
  for (const { id, body, event } of received) {
    if ((bodies.get(id) ?? body) !== body) broken.push(`${id} came with two bodies`);
    bodies.set(id, body);
    const known = sequences.get(event.subject) ?? new Set();
    sequences.set(event.subject, known.add(Number(event.sequence)));
  }
  for (const [id, known] of sequences) {
    if (Math.max(...known) !== known.size) broken.push(`${id} has gaps in what was told of it`);
  }
  return broken;
}
