// Medians and ratios, told with the smallest and the largest value they come from.

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly n: number;
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    min: at(0),
    max: at(sorted.length - 1),
    n: sorted.length,
  };
}

/** Ratios within each round, so that a load that comes and goes falls on both sides. */
export function ratios(values: readonly number[], base: readonly number[]): Spread {
  return spread(values.map((value, round) => value / (base[round] ?? Number.NaN)));
}

export function told({ median, min, max, n }: Spread, digits: number): string {
  const fixed = (value: number): string => value.toFixed(digits);
  return n === 1 ? fixed(median) : `${fixed(median)} (${fixed(min)}–${fixed(max)})`;
}

/** The smallest value that at least this share of all values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
