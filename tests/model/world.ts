// A small world around the real `step`: one attempt, two runners, a clock of few ticks, a network that loses, repeats
// and reorders. Every state that can be reached is visited.
import { isTerminal, type AttemptState } from "@aim/contract";
import type { Attempt } from "../../plane/execution/attempt.ts";
import { step as realStep, type Command, type Step } from "../../plane/execution/step.ts";

export type StepFunction = (attempt: Attempt, command: Command, now: number) => Step;

export interface Bounds {
  readonly ticks: number;
  /** Messages under way at once. */
  readonly messages: number;
  readonly statesMax: number;
}

const TTL = 2;
const GRACE = 1;
const DEADLINE = 4;

type RunnerName = "a" | "b";

/** What a runner believes: counted from the moment it sent, as real runners do. */
interface Runner {
  readonly epoch: number;
  readonly leaseUntil: number;
  readonly phase: "idle" | "leased" | "running" | "ended";
  readonly stopping: boolean;
}

interface Message {
  readonly from: RunnerName;
  readonly sent: number;
  readonly command: Command;
}

interface World {
  readonly now: number;
  readonly attempt: Attempt;
  readonly runners: Readonly<Record<RunnerName, Runner>>;
  readonly net: readonly Message[];
  /** Ghosts: what really happened, whatever the record says. */
  readonly worked: boolean;
  readonly terminal: AttemptState | null;
  readonly terminalEpoch: number;
}

export interface Exploration {
  readonly states: number;
  readonly violation: string | null;
  /** Length of the shortest way to the violation. */
  readonly steps: number;
}

const IDLE: Runner = { epoch: 0, leaseUntil: 0, phase: "idle", stopping: false };

function start(): World {
  const attempt: Attempt = {
    id: "run",
    jobId: "job",
    customer: "c",
    number: 1,
    state: "queued",
    effect: "none",
    evidence: "none",
    killConfirmed: false,
    failureCategory: null,
    remoteWork: "none",
    epoch: 0,
    runner: null,
    claimId: null,
    leaseExpires: null,
    deadline: DEADLINE,
    graceMs: GRACE,
    created: 0,
    started: null,
    ended: null,
    cancelRequested: null,
    everRunning: false,
    terminalDigest: null,
    lastSequence: 0,
    eventsLost: 0,
    manifestDigest: null,
    result: null,
  };
  return {
    now: 0,
    attempt,
    runners: { a: IDLE, b: IDLE },
    net: [],
    worked: false,
    terminal: null,
    terminalEpoch: 0,
  };
}

/** Visits every reachable state breadth first; ends at the first violation or when there is nothing new. */
export function explore(bounds: Bounds, step: StepFunction = realStep): Exploration {
  const first = start();
  const seen = new Set([keyOf(first)]);
  let frontier = [first];
  for (let depth = 1; frontier.length > 0; depth += 1) {
    const next: World[] = [];
    for (const world of frontier) {
      for (const after of successors(world, { bounds, step })) {
        if (typeof after === "string") return { states: seen.size, violation: after, steps: depth };
        const key = keyOf(after);
        if (seen.has(key)) continue;
        seen.add(key);
        if (seen.size >= bounds.statesMax)
          return { states: seen.size, violation: null, steps: depth };
        next.push(after);
      }
    }
    frontier = next;
  }
  return { states: seen.size, violation: null, steps: 0 };
}

function keyOf(world: World): string {
  const { state, epoch, runner, claimId, leaseExpires, everRunning, effect, terminalDigest } =
    world.attempt;
  const attempt = [
    state,
    epoch,
    runner,
    claimId,
    leaseExpires,
    everRunning,
    effect,
    terminalDigest,
  ];
  // The order of messages does not matter: any may be delivered next.
  const net = world.net.map((message) => JSON.stringify(message)).toSorted();
  const { now, runners, worked, terminal, terminalEpoch } = world;
  return JSON.stringify([now, attempt, runners, net, worked, terminal, terminalEpoch]);
}

interface Rules {
  readonly bounds: Bounds;
  readonly step: StepFunction;
}

function* successors(world: World, rules: Rules): Generator<World | string> {
  if (world.now < rules.bounds.ticks) yield { ...world, now: world.now + 1 };
  yield apply(world, { do: "cancel" }, rules);
  yield apply(world, { do: "reap" }, rules);
  for (const name of ["a", "b"] as const) yield* runnerActions(world, name, rules);
  for (const [index, message] of world.net.entries()) {
    const rest = world.net.toSpliced(index, 1);
    yield { ...world, net: rest };
    yield deliver({ ...world, net: rest }, message, rules);
    // Delivered and still under way: the network repeats.
    yield deliver(world, message, rules);
  }
}

function* runnerActions(world: World, name: RunnerName, rules: Rules): Generator<World | string> {
  const runner = world.runners[name];
  const send = (command: Command): World => ({
    ...world,
    net: [...world.net, { from: name, sent: world.now, command }],
  });
  const room = world.net.length < rules.bounds.messages;
  const holds = world.now < runner.leaseUntil;
  if (room && runner.phase === "idle") {
    yield send({ do: "claim", runner: name, claimId: name, ttlMs: TTL });
  }
  if (room && holds && runner.phase !== "ended") {
    yield send({ do: "heartbeat", epoch: runner.epoch, ttlMs: TTL });
    const to = runner.phase === "leased" ? "preparing" : "finalizing";
    yield send({ do: "move", epoch: runner.epoch, to });
    if (runner.phase === "leased") yield send({ do: "move", epoch: runner.epoch, to: "running" });
  }
  // Work goes on in the sandbox without the runner, until its own deadline kills it.
  if (runner.phase === "running" && holds) yield { ...world, worked: true };
  if (!room || runner.phase === "idle") return;
  // A paused runner may send its report at any later time.
  for (const verdict of ["succeeded", "failed", "cancelled", "timed_out"] as const) {
    const report = {
      digest: `${name}-${verdict}`,
      verdict,
      effect: "complete",
      killConfirmed: true,
    } as const;
    yield send({ do: "complete", epoch: runner.epoch, report });
  }
  const unproved = {
    digest: `${name}-unproved`,
    verdict: "cancelled",
    effect: "unknown",
    killConfirmed: false,
  } as const;
  yield send({ do: "complete", epoch: runner.epoch, report: unproved });
}

function deliver(world: World, message: Message, rules: Rules): World | string {
  const after = apply(world, message.command, rules, message);
  return after;
}

function apply(world: World, command: Command, rules: Rules, message?: Message): World | string {
  const before = world.attempt;
  const decision = rules.step(before, command, world.now);
  const attempt: Attempt = { ...before, ...decision.changes };
  const broken = violationOf(world, attempt, command, decision);
  if (broken !== null) return broken;
  const ended = isTerminal(attempt.state) && world.terminal === null;
  const next: World = {
    ...world,
    attempt,
    terminal: ended ? attempt.state : world.terminal,
    terminalEpoch: ended ? attempt.epoch : world.terminalEpoch,
  };
  if (message === undefined || !decision.ok) return next;
  return hear(next, message);
}

/** The runner hears the answer at once; a lost answer is the case in which its message was lost. */
function hear(world: World, { from, sent, command }: Message): World {
  const runner = world.runners[from];
  let heard: Runner = runner;
  if (command.do === "claim" && world.attempt.runner === from) {
    heard = {
      epoch: world.attempt.epoch,
      leaseUntil: sent + TTL,
      phase: "leased",
      stopping: false,
    };
  } else if (command.do === "heartbeat") {
    heard = { ...runner, leaseUntil: Math.max(runner.leaseUntil, sent + TTL) };
  } else if (command.do === "move" && command.to === "running" && runner.phase === "leased") {
    heard = { ...runner, phase: "running" };
  } else if (command.do === "complete") {
    heard = { ...runner, phase: "ended" };
  }
  return { ...world, runners: { ...world.runners, [from]: heard } };
}

/** What must never be, whatever happens. */
function violationOf(
  world: World,
  after: Attempt,
  command: Command,
  decision: Step,
): string | null {
  const before = world.attempt;
  const over = before.leaseExpires !== null && world.now >= before.leaseExpires;
  if (world.terminal !== null && after.state !== world.terminal) return "a terminal state changed";
  if (isTerminal(before.state) && Object.keys(decision.changes).length > 0) {
    return "something of a terminal attempt changed";
  }
  if (after.effect === "none" && isTerminal(after.state) && world.worked) {
    return "an effect was denied that happened";
  }
  if ("epoch" in command && decision.ok && !isTerminal(before.state)) {
    if (command.epoch !== before.epoch) return "a stale epoch was accepted";
    if (over) return "a call was accepted after the lease";
  }
  if (command.do === "claim" && decision.ok && after.epoch > 1)
    return "an attempt was leased twice";
  if (command.do === "complete" && decision.ok) return reportViolation(world, after, command);
  const newlyLost = after.state === "lost" && before.state !== "lost";
  if (newlyLost && !over) return "a living lease was lost";
  return null;
}

function reportViolation(
  world: World,
  after: Attempt,
  { report }: Extract<Command, { do: "complete" }>,
): string | null {
  if (after.terminalDigest !== report.digest) return "another report was answered as accepted";
  if (isTerminal(world.attempt.state)) return null;
  if (report.verdict === "cancelled" && world.attempt.state !== "cancelling")
    return "cancelled unasked";
  const proved = report.killConfirmed || !["cancelled", "timed_out"].includes(after.state);
  if (!proved) return "ended without proof";
  return report.verdict === "timed_out" && world.now < DEADLINE
    ? "timed out before the deadline"
    : null;
}
