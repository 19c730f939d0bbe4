// Wakes whoever waits inside this process: a hint only, every waiter also looks by itself after a while.

export interface Signals {
  readonly wake: (topic: string) => void;
  /** How often anything was woken so far: between two equal answers nobody can have missed a wake. */
  readonly wakes: () => number;
  /** Resolves at the next wake of the topic, after `ms`, or when `signal` aborts. */
  readonly wait: (topic: string, ms: number, signal?: AbortSignal) => Promise<void>;
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

  function wait(topic: string, ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiters = waiting.get(topic) ?? new Set();
      waiting.set(topic, waiters);
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        waiters.delete(done);
        if (waiters.size === 0 && waiting.get(topic) === waiters) waiting.delete(topic);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done, { once: true });
      waiters.add(done);
    });
  }

  return { wake, wakes: () => woken, wait };
}
