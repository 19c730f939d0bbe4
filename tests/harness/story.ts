// Tells the events of a run as short lines, so that a test can name all of them at once.
import type { RunEvent } from "@aim/contract";

type EventOf<K extends RunEvent["kind"]> = Extract<RunEvent, { kind: K }>;

interface TaskLine {
  readonly title: string;
  readonly results: string[];
}

/**
 * One line for each play, skip, stop and task in the order of their starts. The results and retries of a task stand in
 * its line, sorted, since hosts finish in any order; a label that was withheld stands between `~`, a host is `?`.
 */
export function storyOf(events: readonly RunEvent[]): string[] {
  const lines: (string | TaskLine)[] = [];
  const tasks = new Map<string, TaskLine>();
  for (const event of events) {
    if (event.kind === "task_started") {
      const line = {
        title: `${event.handler ? "handler" : "task"} ${titleOf(event)}`,
        results: [],
      };
      tasks.set(event.task_id, line);
      lines.push(line);
    } else if (event.kind === "host_result" || event.kind === "task_retry") {
      tasks.get(event.task_id)?.results.push(resultWords(event));
    } else lines.push(...playWords(event));
  }
  return lines.map((line) =>
    typeof line === "string" ? line : [line.title, ...line.results.toSorted()].join(" | "),
  );
}

function playWords(event: RunEvent): string[] {
  if (event.kind === "play_started") return [`play ${titleOf(event)}`];
  const stopped = event.kind === "play_skipped" || event.kind === "play_stopped";
  return stopped ? [`${event.kind} ${event.reason}`] : [];
}

function titleOf(event: { readonly label: string; readonly label_redacted: boolean }): string {
  return event.label_redacted ? `~${event.label}~` : event.label;
}

function resultWords(event: EventOf<"host_result"> | EventOf<"task_retry">): string {
  if (event.kind === "task_retry") return `${event.host ?? "?"} retry ${event.attempt ?? "?"}`;
  const words = [event.host ?? "?", event.status];
  // `changed` beside another status tells something of its own.
  if (event.changed && event.status !== "changed") words.push("changed");
  if (event.ignored) words.push("ignored");
  if (event.error !== null) words.push(event.error.code);
  if (event.error?.cause !== undefined) words.push(event.error.cause.code);
  return words.join(" ");
}

/** The recap as `host ok=2 changed=1 …`, sorted, without the zeros. */
export function recapOf(events: readonly RunEvent[]): string[] {
  return events
    .filter((event): event is EventOf<"host_recap"> => event.kind === "host_recap")
    .map(({ host, counts }) => recapLine(host ?? "?", counts))
    .toSorted();
}

export function recapLine(host: string, counts: Readonly<Record<string, number>>): string {
  const told = Object.entries(counts).filter(([, count]) => count > 0);
  return [host, ...told.map(([name, count]) => `${name}=${count}`)].join(" ");
}

/** `host outcome` for each target in request order. */
export function outcomesOf(result: {
  readonly targets: readonly { readonly host: string; readonly outcome: string }[];
}): string[] {
  return result.targets.map(({ host, outcome }) => `${host} ${outcome}`);
}

/** Fields whose random or clock-made digits could hold a number by chance. */
const OPAQUE = new Set(["run_id", "timestamp", "manifest_digest", "sequence"]);

/** Which of the words stand in a key, a text or a number anywhere in the value. */
export function wordsFoundIn(value: unknown, words: readonly string[]): string[] {
  const leaves = leavesOf(value);
  return words.filter((word) => leaves.some((leaf) => leaf.includes(word)));
}

function leavesOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [String(value)];
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  return Object.entries(value).flatMap(([key, inner]) =>
    OPAQUE.has(key) ? [key] : [key, ...leavesOf(inner)],
  );
}
