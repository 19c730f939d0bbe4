// What stays known of an attempt however much of its journal was cut: bounded, and written with each batch. Pure.
import type { HostStatus, HintCode, RunEvent, RunEventOf } from "@aim/contract";

export const TASK_CONTEXTS_MAX = 64;
export const HOST_OBSERVATIONS_MAX = 500;

export interface PlayContext {
  readonly play_id: string;
  readonly label: string;
  readonly label_redacted: boolean;
}

export interface TaskContext extends PlayContext {
  readonly task_id: string;
  readonly handler: boolean;
}

/** Host, play, task, status, changed and ignored as bits, code of the hint, sequence: there may be many. */
export type Observation = readonly [
  host: string,
  play_id: string,
  task_id: string,
  status: HostStatus,
  flags: number,
  hint: HintCode | null,
  sequence: number,
];
export const CHANGED = 1;
export const IGNORED = 2;

export interface Checkpoint {
  readonly stage: RunEventOf<"stage">["stage"] | null;
  readonly play: PlayContext | null;
  readonly task: TaskContext | null;
  readonly task_starts: number;
  /** Oldest first. */
  readonly tasks: readonly TaskContext[];
  /** The newest observation of each host, oldest first. */
  readonly hosts: readonly Observation[];
}

export const NOTHING_SEEN: Checkpoint = {
  stage: null,
  play: null,
  task: null,
  task_starts: 0,
  tasks: [],
  hosts: [],
};

type Draft = { -readonly [K in Exclude<keyof Checkpoint, "tasks" | "hosts">]: Checkpoint[K] };

export function advance(before: Checkpoint, events: readonly RunEvent[]): Checkpoint {
  const { tasks: oldTasks, hosts: oldHosts, ...facts } = before;
  const draft: Draft = facts;
  const tasks = new Map(oldTasks.map((task) => [task.task_id, task]));
  const hosts = new Map(oldHosts.map((observation) => [observation[0], observation]));
  for (const event of events) {
    if (event.kind === "stage") draft.stage = event.stage;
    else if (event.kind === "play_started") draft.play = playOf(event);
    else if (event.kind === "task_started") {
      draft.task_starts += 1;
      draft.task = taskOf(event);
      renew(tasks, event.task_id, draft.task);
    } else if (event.kind === "host_result" && event.host !== null) {
      renew(hosts, event.host, observationOf(event.host, event));
    }
  }
  return {
    ...draft,
    tasks: [...tasks.values()].slice(-TASK_CONTEXTS_MAX),
    hosts: [...hosts.values()].slice(-HOST_OBSERVATIONS_MAX),
  };
}

/** The newest stands last. */
function renew<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}

function playOf({ play_id, label, label_redacted }: RunEventOf<"play_started">): PlayContext {
  return { play_id, label, label_redacted };
}

function taskOf(event: RunEventOf<"task_started">): TaskContext {
  const { play_id, task_id, label, label_redacted, handler } = event;
  return { play_id, task_id, label, label_redacted, handler };
}

function observationOf(host: string, event: RunEventOf<"host_result">): Observation {
  const flags = (event.changed ? CHANGED : 0) | (event.ignored ? IGNORED : 0);
  const hint = event.error?.code ?? null;
  return [host, event.play_id, event.task_id, event.status, flags, hint, event.sequence];
}
