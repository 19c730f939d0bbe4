// Where events are missing that were counted as lost. A hole without a loss is an ordinary one: nothing is claimed of it.
import type { LossReason } from "@aim/contract";

export interface Gap {
  readonly from: number;
  readonly to: number;
  /** Lost events in it: fewer than its length where something else was left out too. */
  readonly n: number;
  readonly reason: LossReason;
}

export interface Heard {
  /** The newest sequence before. */
  readonly last: number;
  /** Rising. */
  readonly sequences: readonly number[];
  /** Losses that no gap accounts for yet. */
  readonly unplaced: number;
  readonly reason: LossReason;
}

/** The holes before and between the sequences, oldest first, until every loss has its place. */
export function gapsOf({ last, sequences, unplaced, reason }: Heard): Gap[] {
  const gaps: Gap[] = [];
  let before = last;
  let left = unplaced;
  for (const sequence of sequences) {
    const [from, to] = [before + 1, sequence - 1];
    before = sequence;
    if (to < from || left === 0) continue;
    const n = Math.min(left, to - from + 1);
    gaps.push({ from, to, n, reason });
    left -= n;
  }
  return gaps;
}
