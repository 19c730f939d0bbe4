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
  let size = 0;
  let omitted = 0;

  function add(event: RunEvent): void {
    const line = lineOf(event);
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

type Lines = { [K in RunEvent["kind"]]?: (event: Extract<RunEvent, { kind: K }>) => string };

const LINES: Lines = {
  stage: ({ stage }) => `stage ${stage}`,
  play_started: ({ play_id, label }) => `play ${play_id} [${label}]`,
  play_skipped: ({ play_id, reason }) => `play ${play_id} ${reason}`,
  play_stopped: ({ play_id, reason }) => `play ${play_id} ${reason}`,
  task_started: ({ handler, task_id, label }) =>
    `${handler ? "handler" : "task"} ${task_id} [${label}]`,
  host_result: ({ status, host, task_id, ignored, error }) => {
    const why = error === null ? "" : ` => ${error.code}`;
    return `${status} ${nameOf(host)} ${task_id}${ignored ? " (ignored)" : ""}${why}`;
  },
  task_retry: ({ host, task_id }) => `retry ${nameOf(host)} ${task_id}`,
  task_async_poll: ({ host, task_id }) => `poll ${nameOf(host)} ${task_id}`,
  host_recap: ({ host, counts }) =>
    `recap ${nameOf(host)} ${COUNT_NAMES.map((name) => `${name}=${counts[name]}`).join(" ")}`,
  stats: ({ hosts }) => `stats hosts=${hosts}`,
};

function lineOf(event: RunEvent): string | null {
  const line = LINES[event.kind] as ((event: RunEvent) => string) | undefined;
  return line === undefined ? null : line(event);
}

/** A JSON text, so that no name can pretend to be two words. */
function nameOf(host: string | null): string {
  return host === null ? "host-withheld" : JSON.stringify(host);
}
