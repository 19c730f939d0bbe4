// A place in the journal of a job: number of the attempt and sequence in it, as one integer that only grows.
import { EVENT_SEQUENCE_MAX } from "@aim/contract";

const STEP = EVENT_SEQUENCE_MAX + 1;

export interface Place {
  /** Number of the attempt within its job. */
  readonly number: number;
  readonly sequence: number;
}

export function cursorOf({ number, sequence }: Place): number {
  return number * STEP + sequence;
}

export function placeOf(cursor: number): Place {
  return { number: Math.floor(cursor / STEP), sequence: cursor % STEP };
}
