// A small world around the real `step`: one attempt, two runners, a clock of few ticks, a network that loses, repeats
// and reorders. Every state that can be reached is visited.
import { isTerminal, type AttemptState } from "@aim/contract";
import { waitingAttempt, type Attempt } from "../../plane/execution/attempt.ts";
import {
  step as realStep,
  type Command,
  type Report,
  type Step,
} from "../../plane/execution/step.ts";

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
}

export interface Exploration {
  readonly states: number;
  readonly violation: string | null;
  /** Length of the shortest way to the violation. */
  readonly steps: number;
}

const IDLE: Runner = { epoch: 0, leaseUntil: 0, phase: "idle", stopping: false };

function start(): World {
  const attempt = waitingAttempt({
    id: "run",
    jobId: "job",
    customer: "c",
    number: 1,
    deadline: DEADLINE,
    graceMs: GRACE,
    created: 0,
  });
  return {
    now: 0,
    attempt,
    runners: { a: IDLE, b: IDLE },
    net: [],
    worked: false,
    terminal: null,
  };
}

/** Visits every reachable state breadth first; ends at the first violation or when there is nothing new. */
export function explore(bounds: Bounds, step: StepFunction = realStep): Exploration {
  const rules = { bounds, step };
  const first = start();
  const seen = new Set([keyOf(first)]);
  let frontier = [first];
  for (let steps = 1; frontier.length > 0; steps += 1) {
    const next: World[] = [];
    for (const after of frontier.flatMap((world) => [...successors(world, rules)])) {
      if (typeof after === "string") return { states: seen.size, violation: after, steps };
      const key = keyOf(after);
      if (!seen.has(key)) next.push(after);
      seen.add(key);
    }
    if (seen.size >= bounds.statesMax) return { states: seen.size, violation: null, steps };
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
  const { now, runners, worked, terminal } = world;
  return JSON.stringify([now, attempt, runners, net, worked, terminal]);
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
  const holds = world.now < runner.leaseUntil;
  // Work goes on in the sandbox without the runner, until its own deadline kills it.
  if (runner.phase === "running" && holds) yield { ...world, worked: true };
  if (world.net.length >= rules.bounds.messages) return;
  for (const command of commandsOf(name, runner, holds)) {
    yield { ...world, net: [...world.net, { from: name, sent: world.now, command }] };
  }
}

/** What a runner may say now. A paused one may send its report at any later time. */
function commandsOf(name: RunnerName, runner: Runner, holds: boolean): Command[] {
  const { epoch, phase } = runner;
  if (phase === "idle") return [{ do: "claim", runner: name, claimId: name, ttlMs: TTL }];
  const commands: Command[] = [];
  if (holds && phase !== "ended") {
    commands.push({ do: "heartbeat", epoch, ttlMs: TTL });
    const moves =
      phase === "leased" ? (["preparing", "running"] as const) : (["finalizing"] as const);
    commands.push(...moves.map((to) => ({ do: "move", epoch, to }) as const));
  }
  for (const verdict of ["succeeded", "failed", "cancelled", "timed_out"] as const) {
    const report = { digest: `${name}-${verdict}`, verdict, killConfirmed: true } as const;
    commands.push({ do: "complete", epoch, report: { ...report, effect: "complete" } });
  }
  const unproved = {
    digest: `${name}-unproved`,
    verdict: "cancelled",
    killConfirmed: false,
  } as const;
  commands.push({ do: "complete", epoch, report: { ...unproved, effect: "unknown" } });
  return commands;
}

function deliver(world: World, message: Message, rules: Rules): World | string {
  const before = world.attempt;
  const after = apply(world, message.command, rules);
  if (typeof after === "string") return after;
  const decision = rules.step(before, message.command, world.now);
  return decision.ok ? hear(after, message) : after;
}

function apply(world: World, command: Command, rules: Rules): World | string {
  const decision = rules.step(world.attempt, command, world.now);
  const attempt: Attempt = { ...world.attempt, ...decision.changes };
  const broken = violationOf({ world, after: attempt, command, decision });
  if (broken !== null) return broken;
  const ended = isTerminal(attempt.state) && world.terminal === null;
  return { ...world, attempt, terminal: ended ? attempt.state : world.terminal };
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

interface Made {
  readonly world: World;
  readonly after: Attempt;
  readonly command: Command;
  readonly decision: Step;
}

/** What must never be, whatever happens: the name of each rule and when it is broken. */
const RULES: readonly (readonly [string, (made: Made) => boolean])[] = [
  [
    "a terminal state changed",
    ({ world, after }) => world.terminal !== null && after.state !== world.terminal,
  ],
  [
    "something of a terminal attempt changed",
    ({ world, decision }) =>
      isTerminal(world.attempt.state) && Object.keys(decision.changes).length > 0,
  ],
  [
    "an effect was denied that happened",
    ({ world, after }) => after.effect === "none" && isTerminal(after.state) && world.worked,
  ],
  [
    "a stale epoch was accepted",
    (made) => acceptedLive(made) && epochOf(made) !== made.world.attempt.epoch,
  ],
  ["a call was accepted after the lease", (made) => acceptedLive(made) && leaseOver(made)],
  ["an attempt was leased twice", ({ after }) => after.epoch > 1],
  [
    "a living lease was lost",
    (made) =>
      made.after.state === "lost" && made.world.attempt.state !== "lost" && !leaseOver(made),
  ],
  [
    "another report was answered as accepted",
    (made) =>
      made.decision.ok &&
      reportOf(made) !== null &&
      made.after.terminalDigest !== reportOf(made)?.digest,
  ],
  [
    "cancelled unasked",
    (made) =>
      acceptedLive(made) &&
      reportOf(made)?.verdict === "cancelled" &&
      made.world.attempt.state !== "cancelling",
  ],
  [
    "ended without proof",
    (made) =>
      acceptedLive(made) &&
      reportOf(made)?.killConfirmed === false &&
      ["cancelled", "timed_out"].includes(made.after.state),
  ],
  [
    "timed out before the deadline",
    (made) =>
      acceptedLive(made) && reportOf(made)?.verdict === "timed_out" && made.world.now < DEADLINE,
  ],
];

function violationOf(made: Made): string | null {
  return RULES.find(([, broken]) => broken(made))?.[0] ?? null;
}

function epochOf({ command }: Made): number | null {
  return "epoch" in command ? command.epoch : null;
}

function reportOf({ command }: Made): Report | null {
  return command.do === "complete" ? command.report : null;
}

/** A runner's call that was accepted for an attempt that still lived. */
function acceptedLive(made: Made): boolean {
  return epochOf(made) !== null && made.decision.ok && !isTerminal(made.world.attempt.state);
}

function leaseOver({ world }: Made): boolean {
  const { leaseExpires } = world.attempt;
  return leaseExpires !== null && world.now >= leaseExpires;
}
