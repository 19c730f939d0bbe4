// Time and chance, as ports. Domain code gets them lent; only this folder touches the machine's.

export interface Clock {
  /** Milliseconds on a line that never goes back and never jumps while the process lives. */
  readonly now: () => number;
  /** RFC 3339 in UTC with microseconds for the same moment. */
  readonly timestamp: () => string;
}

/**
 * A clock that follows the wall at its start and the monotonic timer from then on: a jump of the wall moves nothing.
 * `notBefore` is the latest moment a former process wrote down.
 */
export function createClock(notBefore = 0): Clock {
  const base = Math.max(Date.now(), notBefore) - performance.now();
  let last = 0;
  const now = () => {
    last = Math.max(last, base + performance.now());
    return last;
  };
  return { now, timestamp: () => formatTimestamp(now()) };
}

/** The wall's milliseconds, for whoever compares them with a clock elsewhere; it may jump. */
export function wallNow(): number {
  return Date.now();
}

/** Milliseconds since 1970, fractions kept, as RFC 3339 with microseconds. */
export function formatTimestamp(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  const micros = Math.floor((milliseconds - whole) * 1000);
  return `${new Date(whole).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

/** The same, of a moment that may not have come. */
export function formatOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : formatTimestamp(milliseconds);
}
