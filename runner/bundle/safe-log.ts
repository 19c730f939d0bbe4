// Our own rendering of a run's events as plain lines: what `logs/stdout.log` holds instead of the tool's output.
import { COUNT_NAMES, type RunEvent } from "@aim/contract";

/** Lines end here; the events themselves are kept whole beside it. */
const BYTES_MAX = 8 * 1024 * 1024;

export interface SafeLog {
  readonly add: (event: RunEvent) => void;
  readonly text: () => string;
}

export function createSafeLog(): SafeLog {
  const lines: string[] = [];
  const labels = new Map<string, string>();
  let size = 0;
  let omitted = 0;

  function add(event: RunEvent): void {
    if (event.kind === "task_started") labels.set(event.task_id, event.label);
    const line = lineOf(event, labels);
    if (line === null) return;
    const text = `${event.timestamp} ${line}\n`;
    size += Buffer.byteLength(text);
    if (size > BYTES_MAX) omitted += 1;
    else lines.push(text);
  }

  return {
    add,
    text: () => lines.join("") + (omitted === 0 ? "" : `${omitted} more lines are not kept\n`),
  };
}

function lineOf(event: RunEvent, labels: ReadonlyMap<string, string>): string | null {
  switch (event.kind) {
    case "stage":
      return `stage ${event.stage}`;
    case "play_started":
      return `play ${event.play_id} [${event.label}]`;
    case "play_skipped":
    case "play_stopped":
      return `play ${event.play_id} ${event.reason}`;
    case "task_started":
      return `${event.handler ? "handler" : "task"} ${event.task_id} [${event.label}]`;
    case "host_result": {
      const ignored = event.ignored ? " (ignored)" : "";
      const error = event.error === null ? "" : ` => ${event.error.code}`;
      const label = labels.get(event.task_id) ?? "";
      return `${event.status} ${nameOf(event.host)} ${event.task_id} [${label}]${ignored}${error}`;
    }
    case "task_retry":
    case "task_async_poll":
      return `${event.kind} ${nameOf(event.host)} ${event.task_id}`;
    case "host_recap":
      return `recap ${nameOf(event.host)} ${COUNT_NAMES.map((name) => `${name}=${event.counts[name]}`).join(" ")}`;
    case "stats":
      return `stats hosts=${event.hosts}`;
    default:
      return null;
  }
}

/** A JSON text, so that no name can pretend to be two words. */
function nameOf(host: string | null): string {
  return host === null ? "host-withheld" : JSON.stringify(host);
}
