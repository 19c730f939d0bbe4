// When a delivery is tried again, and when it is given up. Pure.

const FIRST_MS = 1_000;
const LAST_MS = 3_600_000;
export const GIVE_UP_MS = 72 * 3_600_000;

export interface Failed {
  /** Tries so far, this one included. */
  readonly tries: number;
  readonly since: number;
  readonly now: number;
}

/**
 * The next try at a random moment of a span that doubles from one second to one hour, so that receivers that come back
 * are not met by everybody at once. Null when that would be too late. `chance` is at least 0 and below 1.
 */
export function nextTry({ tries, since, now }: Failed, chance: number): number | null {
  const span = Math.min(LAST_MS, FIRST_MS * 2 ** Math.min(tries - 1, 30));
  const at = now + chance * span;
  return at > since + GIVE_UP_MS ? null : at;
}
