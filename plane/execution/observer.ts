// Who watches attempts from outside: metrics and traces. A port, so that nothing here knows what they are made with.
import type { Attempt, Job } from "./attempt.ts";

export interface Seen {
  readonly attempt: Attempt;
  /** Null where it was not at hand. */
  readonly job: Job | null;
  /** Kind of the runner that holds it; null before the first lease. */
  readonly runnerKind: string | null;
  /** Plane time in milliseconds. */
  readonly now: number;
}

export interface Observer {
  readonly accepted: (seen: Seen) => void;
  /** Handed out; a repeated claim may be told again. */
  readonly claimed: (seen: Seen) => void;
  /** It is in another state now. */
  readonly moved: (seen: Seen) => void;
  readonly beat: (attemptId: string, now: number) => void;
}

/** Tells all of them. None can throw into what it watches. */
export function observers(all: readonly Observer[], onDefect: (error: unknown) => void): Observer {
  const tell = (how: (observer: Observer) => void) => {
    for (const observer of all) {
      try {
        how(observer);
      } catch (error) {
        onDefect(error);
      }
    }
  };
  return {
    accepted: (seen) => tell(({ accepted }) => accepted(seen)),
    claimed: (seen) => tell(({ claimed }) => claimed(seen)),
    moved: (seen) => tell(({ moved }) => moved(seen)),
    beat: (attemptId, now) => tell(({ beat }) => beat(attemptId, now)),
  };
}

const REMEMBERED_MAX = 10_000;

/** What is remembered of attempts while they live. Another plane may see their end: the oldest are forgotten. */
export class Remembered<T> {
  readonly #by = new Map<string, T>();

  get(id: string): T | undefined {
    return this.#by.get(id);
  }

  set(id: string, value: T): void {
    this.#by.delete(id);
    this.#by.set(id, value);
    if (this.#by.size <= REMEMBERED_MAX) return;
    for (const oldest of this.#by.keys()) return void this.#by.delete(oldest);
  }

  forget(id: string): void {
    this.#by.delete(id);
  }
}
