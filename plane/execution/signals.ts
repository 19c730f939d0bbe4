// Wakes whoever waits inside this process: a hint only, every waiter also looks by itself after a while.

export interface Signals {
  readonly wake: (topic: string) => void;
  /** How often anything was woken so far: between two equal answers nobody can have missed a wake. */
  readonly wakes: () => number;
  /** Hears of the next wake of the topic. */
  readonly listen: (topic: string, ms: number) => Listening;
}

/** Thousands of readers wait at once: an object and a timer for each, no abort signal. */
export interface Listening {
  /** Resolves at the wake, after the time, or when it is stopped. */
  readonly woken: Promise<void>;
  /** Safe to call at any time and twice. */
  readonly stop: () => void;
}

export function createSignals(): Signals {
  const waiting = new Map<string, Set<() => void>>();

  let woken = 0;

  function wake(topic: string): void {
    woken += 1;
    const waiters = waiting.get(topic);
    waiting.delete(topic);
    for (const resolve of waiters ?? []) resolve();
  }

  function listen(topic: string, ms: number): Listening {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiters = waiting.get(topic) ?? new Set();
    waiting.set(topic, waiters);
    const stop = () => {
      clearTimeout(timer);
      waiters.delete(stop);
      if (waiters.size === 0 && waiting.get(topic) === waiters) waiting.delete(topic);
      resolve();
    };
    const timer = setTimeout(stop, ms);
    waiters.add(stop);
    return { woken: promise, stop };
  }

  return { wake, wakes: () => woken, listen };
}
