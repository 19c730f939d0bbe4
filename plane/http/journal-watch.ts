// Looks now and then for all journal streams together: a wake may have been lost, and rights may have changed. So a stream
// that waits costs nothing by itself, however many there are.
import type { Listening, Signals } from "../execution/signals.ts";
import type { Store } from "../store/store.ts";

const LOOK_EVERY_MS = 500;

export interface JournalWatchParts {
  readonly signals: Pick<Signals, "listen">;
  readonly store: Pick<Store, "readJournal">;
  /** A number that changes with every change of rights. */
  readonly readEpoch: () => Promise<number>;
}

export interface JournalWatch {
  readonly open: (jobId: string) => WatchedReader;
}

/** One stream of one job. */
export interface WatchedReader {
  /** Like that of the signals, and also woken when the watch has found something. */
  readonly listen: Signals["listen"];
  /** Call it once. */
  readonly close: () => void;
}

interface Watched {
  readers: number;
  readonly listening: Set<Listening>;
  /** What was found at the last look. */
  found: string | null;
}

export function createJournalWatch(parts: JournalWatchParts): JournalWatch {
  const jobs = new Map<string, Watched>();
  let timer: NodeJS.Timeout | undefined;
  let epoch = Number.NaN;

  async function look(): Promise<void> {
    const now = await parts.readEpoch();
    const changed = now !== epoch;
    epoch = now;
    for (const [jobId, job] of jobs) {
      const found = await stateOf(parts.store, jobId);
      if (!changed && found === job.found) continue;
      job.found = found;
      wake(job);
    }
  }

  async function watch(): Promise<void> {
    try {
      await look();
    } catch {
      // Whoever waits looks by itself and meets the same fault, where it is told.
      for (const job of jobs.values()) wake(job);
    }
    timer = jobs.size === 0 ? undefined : setTimeout(() => void watch(), LOOK_EVERY_MS);
  }

  function open(jobId: string): WatchedReader {
    const job = jobs.get(jobId) ?? { readers: 0, listening: new Set<Listening>(), found: null };
    jobs.set(jobId, job);
    job.readers += 1;
    timer ??= setTimeout(() => void watch(), LOOK_EVERY_MS);
    return {
      listen: (topic, ms) => {
        const listening = parts.signals.listen(topic, ms);
        job.listening.add(listening);
        const stop = () => {
          job.listening.delete(listening);
          listening.stop();
        };
        return { woken: listening.woken, stop };
      },
      close: () => {
        job.readers -= 1;
        if (job.readers === 0) jobs.delete(jobId);
      },
    };
  }

  return { open };
}

function wake({ listening }: Watched): void {
  for (const { stop } of listening) stop();
}

const BEYOND_ALL = Number.MAX_SAFE_INTEGER;

/** Differs whenever a reader of the job would find something else. */
async function stateOf(store: JournalWatchParts["store"], jobId: string): Promise<string> {
  const read = await store.readJournal({ jobId, after: BEYOND_ALL, limit: 1 });
  return read === null ? "" : `${read.high} ${read.newestRun} ${read.ended}`;
}
