// Carries events from the run to the plane. Never blocks the run: a full queue drops the newest and counts it.
import { EVENTS_PER_BATCH_MAX, type RunEvent } from "@aim/contract";

export const QUEUE_MAX = 2_048;
const FLUSH_MS = 25;
const RETRY_MS = 250;
const DRAIN_MS = 2_500;

export interface CaptureQueue {
  readonly push: (event: RunEvent) => void;
  readonly lost: () => number;
  readonly lastSequence: () => number;
  /** Sends what is left, for at most 2.5 s; what is still queued then counts as lost. */
  readonly close: () => Promise<void>;
}

export type SendBatch = (events: readonly RunEvent[], lost: number) => Promise<void>;

/** `send` stores a batch durably or rejects; a rejected batch is sent again. */
export function createCaptureQueue(send: SendBatch): CaptureQueue {
  const queue: RunEvent[] = [];
  let lost = 0;
  let last = 0;
  let closing = false;
  let deadline = Number.POSITIVE_INFINITY;
  let wake: () => void = () => undefined;

  function push(event: RunEvent): void {
    last = event.sequence;
    if (queue.length >= QUEUE_MAX) {
      lost += 1;
      return;
    }
    queue.push(event);
    wake();
  }

  async function work(): Promise<void> {
    for (;;) {
      if (queue.length === 0) {
        if (closing) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if (performance.now() >= deadline) return;
      const batch = queue.slice(0, EVENTS_PER_BATCH_MAX);
      const sent = await send(batch, lost).then(
        () => true,
        () => false,
      );
      if (sent) queue.splice(0, batch.length);
      wake = () => undefined;
      // The first event of a burst leaves at once and the rest gathers for a moment; a batch that is full has gathered.
      if (sent && queue.length >= EVENTS_PER_BATCH_MAX) continue;
      if (!closing) await delay(sent ? FLUSH_MS : RETRY_MS);
      else if (!sent) await delay(Math.min(RETRY_MS, Math.max(0, deadline - performance.now())));
    }
  }

  const worker = work();

  async function close(): Promise<void> {
    closing = true;
    deadline = performance.now() + DRAIN_MS;
    wake();
    await Promise.race([worker, delay(DRAIN_MS + 500)]);
    lost += queue.length;
    queue.length = 0;
  }

  return { push, lost: () => lost, lastSequence: () => last, close };
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
