// What is known of a run so far, from its events alone: for the live region, the ending and the exit.
import type { HostStatus, RunEvent, RunEventOf } from "@aim/contract";

export interface Activity {
  readonly label: string;
  readonly handler: boolean;
  /** Results that came in for this task. */
  results: number;
}

export type HostCounts = Record<HostStatus, number>;

/** Follows one run. Only named hosts are counted as hosts: records without a name may be any number of machines. */
export class Progress {
  runId: string | null = null;
  lastSequence = 0;
  stage: string | null = null;
  playLabel: string | null = null;
  /** Results without a host name. */
  withheldResults = 0;
  readonly recaps: RunEventOf<"host_recap">[] = [];
  readonly advice = new Set<string>();
  #counters: RunEventOf<"progress">["results"] | null = null;
  readonly #hosts = new Map<string, HostStatus>();
  readonly #plays = new Map<string, string>();
  /** In the order of their last sign of life, the newest at the end. */
  readonly #tasks = new Map<string, Activity>();

  take(event: RunEvent): void {
    this.runId = event.run_id;
    this.lastSequence = Math.max(this.lastSequence, event.sequence);
    switch (event.kind) {
      case "stage":
        this.stage = event.stage;
        break;
      case "progress":
        this.#counters = event.results;
        break;
      case "play_started":
        this.#playStarted(event);
        break;
      case "task_started":
        this.#taskStarted(event);
        break;
      case "host_result":
        this.#hostResult(event);
        break;
      case "host_recap":
        this.recaps.push(event);
        break;
      default:
    }
  }

  /** The anonymous counters of a summary run; null once details are known, which are newer and say more. */
  get counters(): RunEventOf<"progress">["results"] | null {
    return this.#plays.size === 0 ? this.#counters : null;
  }

  hostCounts(): HostCounts {
    const counts: HostCounts = { ok: 0, changed: 0, failed: 0, unreachable: 0, skipped: 0 };
    for (const status of this.#hosts.values()) counts[status] += 1;
    return counts;
  }

  /** The tasks with the newest signs of life, newest first. */
  currentTasks(most: number): readonly Activity[] {
    return [...this.#tasks.values()].slice(-most).toReversed();
  }

  #playStarted(event: RunEventOf<"play_started">): void {
    this.#plays.set(event.play_id, event.label);
    this.playLabel = event.label;
    this.#tasks.clear();
  }

  #taskStarted(event: RunEventOf<"task_started">): void {
    const { label, handler } = event;
    this.#touch(event.task_id, {
      label,
      handler,
      results: this.#tasks.get(event.task_id)?.results ?? 0,
    });
  }

  #hostResult(event: RunEventOf<"host_result">): void {
    const task = this.#tasks.get(event.task_id);
    if (task !== undefined) {
      task.results += 1;
      this.#touch(event.task_id, task);
    }
    const advice = event.error?.cause?.advice;
    if (advice !== undefined && !event.ignored) this.advice.add(advice);
    if (event.host === null) this.withheldResults += 1;
    else this.#hosts.set(event.host, nextStatus(this.#hosts.get(event.host), event));
  }

  #touch(taskId: string, activity: Activity): void {
    this.#tasks.delete(taskId);
    this.#tasks.set(taskId, activity);
    const oldest = this.#tasks.keys().next();
    // Only the newest are ever shown, and a play may have 50,000 tasks.
    if (this.#tasks.size > 64 && oldest.done !== true) this.#tasks.delete(oldest.value);
  }
}

const RANKS = { skipped: 0, ok: 1, changed: 2 } as const;

/** A host that fails gets no further task unless it was rescued, so a later result lifts the failure. */
function nextStatus(before: HostStatus | undefined, event: RunEventOf<"host_result">): HostStatus {
  const failed = event.status === "failed" || event.status === "unreachable";
  if (failed && !event.ignored) return event.status;
  const now = failed ? "ok" : event.status;
  if (now === "failed" || now === "unreachable") return now;
  if (before === undefined || before === "failed" || before === "unreachable") {
    return event.changed ? "changed" : now;
  }
  return RANKS[now] > RANKS[before] ? now : before;
}
