// The lines that stay: ansible-playbook's manner, from safe events alone. Correlates by ids, never by labels.
import type { HostError, RunEvent, RunEventOf } from "@aim/contract";
import { visible } from "./escape.ts";
import { STATUS_HUES, WITHHELD_HOST, type Hue, type Paint } from "./style.ts";
import { displayWidth } from "./width.ts";

/** Ansible's own banner width where it knows no terminal. */
const BANNER_COLUMNS = 79;

interface TaskHeader {
  readonly word: "TASK" | "HANDLER";
  readonly label: string;
}

export class Scrollback {
  readonly #paint: Paint;
  readonly #plays = new Map<string, string>();
  readonly #tasks = new Map<string, TaskHeader>();
  #play: string | null = null;
  #task: string | null = null;
  #taskIsBare = false;

  constructor(paint: Paint) {
    this.#paint = paint;
  }

  /** Finished lines for one event; none for kinds that are not shown, unknown ones among them. */
  lines(event: RunEvent): string[] {
    switch (event.kind) {
      case "play_started":
        return this.#playStarted(event);
      case "play_skipped":
        return [
          ...this.#playHeader(event.play_id),
          this.#paint("cyan", "skipping: no hosts matched"),
        ];
      case "play_stopped":
        return ["", banner("NO MORE HOSTS LEFT")];
      case "task_started":
        return this.#taskStarted(event);
      case "host_result":
        return [...this.#headers(event), this.#result(event)];
      case "task_retry":
        return [...this.#headers(event), this.#again("retrying", event)];
      case "task_async_poll":
        return [...this.#headers(event), this.#again("polling", event)];
      default:
        return [];
    }
  }

  #playStarted(event: RunEventOf<"play_started">): string[] {
    this.#plays.set(event.play_id, visible(event.label));
    return this.#playHeader(event.play_id);
  }

  #playHeader(playId: string): string[] {
    if (playId === this.#play) return [];
    this.#play = playId;
    this.#task = null;
    this.#taskIsBare = false;
    return ["", banner(`PLAY [${this.#plays.get(playId) ?? "start not received"}]`)];
  }

  #taskStarted(event: RunEventOf<"task_started">): string[] {
    const known = this.#tasks.has(event.task_id);
    this.#tasks.set(event.task_id, {
      word: event.handler ? "HANDLER" : "TASK",
      label: visible(event.label),
    });
    // Under the free strategy many tasks start before one ends: a header waits there until it has a line below it.
    if (known || this.#taskIsBare) return [];
    return [...this.#playHeader(event.play_id), ...this.#taskHeader(event.task_id)];
  }

  #headers({ play_id, task_id }: { play_id: string; task_id: string }): string[] {
    const lines = [...this.#playHeader(play_id), ...this.#taskHeader(task_id)];
    this.#taskIsBare = false;
    return lines;
  }

  #taskHeader(taskId: string): string[] {
    if (taskId === this.#task) return [];
    this.#task = taskId;
    this.#taskIsBare = true;
    const { word, label } = this.#tasks.get(taskId) ?? {
      word: "TASK",
      label: "start not received",
    };
    return ["", banner(`${word} [${label}]`)];
  }

  #result(event: RunEventOf<"host_result">): string {
    const word = event.status === "skipped" ? "skipping" : event.status;
    const hue: Hue = event.ignored ? "cyan" : STATUS_HUES[event.status];
    const sentence = event.error === null ? "" : ` => ${errorSentence(event.error)}`;
    const ignored = event.ignored ? " ...ignoring" : "";
    return this.#paint(hue, `${word}: [${hostName(event.host)}]${sentence}${ignored}`);
  }

  #again(word: string, event: RunEventOf<"task_retry"> | RunEventOf<"task_async_poll">): string {
    const attempt = event.attempt === null ? "" : ` (attempt ${event.attempt})`;
    return this.#paint("dim", `${word}: [${hostName(event.host)}]${attempt}`);
  }
}

export function hostName(host: string | null): string {
  return host === null ? WITHHELD_HOST : visible(host);
}

export function banner(text: string): string {
  return `${text} ${"*".repeat(Math.max(3, BANNER_COLUMNS - displayWidth(text) - 1))}`;
}

function errorSentence(error: HostError): string {
  const cause = error.cause === undefined ? "" : ` (${visible(error.cause.code)})`;
  return visible(error.message) + cause;
}
