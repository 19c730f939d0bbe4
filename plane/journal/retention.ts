// How much of an attempt's journal is kept, and where it is cut. Pure.
// The bytes of an event are those of its JSON text in UTF-8, whatever its row takes.

export interface JournalLimits {
  readonly maxEvents: number;
  readonly maxBytes: number;
}

export const JOURNAL_EVENTS = { least: 100, most: 200_000, usual: 20_000 } as const;
export const JOURNAL_BYTES = { least: 65_536, most: 67_108_864, usual: 8_388_608 } as const;
export const USUAL_LIMITS: JournalLimits = {
  maxEvents: JOURNAL_EVENTS.usual,
  maxBytes: JOURNAL_BYTES.usual,
};

/** Cutting in steps costs less than cutting at each commit; a small journal takes smaller ones. */
const STEP_EVENTS = 1_000;
const STEP_SHARE = 20;

export interface Held {
  readonly events: number;
  readonly bytes: number;
}

/** What is left at most after a cut; null while both limits hold. */
export function roomAfterCut(held: Held, limits: JournalLimits): Held | null {
  const tooMany = held.events > limits.maxEvents;
  if (!tooMany && held.bytes <= limits.maxBytes) return null;
  const step = Math.min(STEP_EVENTS, Math.floor(limits.maxEvents / STEP_SHARE));
  return {
    events: tooMany ? limits.maxEvents - step : limits.maxEvents,
    bytes:
      held.bytes > limits.maxBytes
        ? limits.maxBytes - Math.floor(limits.maxBytes / STEP_SHARE)
        : limits.maxBytes,
  };
}

export interface Oldest {
  readonly sequence: number;
  readonly bytes: number;
}

export interface Cut {
  readonly events: number;
  readonly bytes: number;
  readonly from: number;
  readonly to: number;
}

/** How much of the oldest rows goes until the rest fits; null when more of them must be looked at. */
export function cutOf(held: Held, room: Held, oldest: readonly Oldest[]): Cut | null {
  let { events, bytes } = held;
  for (const [index, { sequence, bytes: size }] of oldest.entries()) {
    events -= 1;
    bytes -= size;
    if (events > room.events || bytes > room.bytes) continue;
    const from = oldest[0]?.sequence ?? sequence;
    return { events: index + 1, bytes: held.bytes - bytes, from, to: sequence };
  }
  return null;
}
