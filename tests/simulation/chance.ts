// Seeded chance: the same seed gives the same history.

export interface Chance {
  /** From 0 up to 1. */
  readonly next: () => number;
  readonly upTo: (limit: number) => number;
  readonly happens: (probability: number) => boolean;
}

export function createChance(seed: number): Chance {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
  return { next, upTo: (limit) => next() * limit, happens: (probability) => next() < probability };
}
