// Numbers events at their source and hands each to the capture queue, the log and the kept list.
import { EVENT_VERSION, type EventBody, type RunEvent } from "@aim/contract";
import { createSafeLog } from "../bundle/safe-log.ts";
import type { CaptureQueue } from "../capture/queue.ts";

/** The kept list ends here: the bundle is then partial and says so. */
const KEPT_BYTES_MAX = 48 * 1024 * 1024;

export interface Emitter {
  readonly emit: (body: EventBody) => void;
  readonly eventsText: () => string;
  readonly logText: () => string;
  /** False once an event did not fit the kept list. */
  readonly keptAll: () => boolean;
}

export function createEmitter(
  runId: string,
  queue: CaptureQueue,
  timestamp: () => string,
): Emitter {
  const log = createSafeLog();
  const kept: string[] = [];
  let size = 0;
  let sequence = 0;
  let all = true;

  function emit(body: EventBody): void {
    sequence += 1;
    const event = {
      event_version: EVENT_VERSION,
      run_id: runId,
      sequence,
      timestamp: timestamp(),
      ...body,
    } as RunEvent;
    queue.push(event);
    log.add(event);
    const text = `${JSON.stringify(event)}\n`;
    size += Buffer.byteLength(text);
    if (size > KEPT_BYTES_MAX) all = false;
    else kept.push(text);
  }

  return { emit, eventsText: () => kept.join(""), logText: log.text, keptAll: () => all };
}
