// Virtual time: what is due next happens next, one thing after another.

interface Due {
  readonly at: number;
  readonly order: number;
  readonly happen: () => Promise<void>;
}

export interface Timeline {
  readonly now: () => number;
  readonly after: (ms: number, happen: () => Promise<void>) => void;
  /** Lets everything happen that is due until then; answers how many things did. */
  readonly runUntil: (end: number) => Promise<number>;
}

export function createTimeline(start: number): Timeline {
  let now = start;
  let order = 0;
  let due: Due[] = [];

  async function runUntil(end: number): Promise<number> {
    let happened = 0;
    for (;;) {
      const next = due.reduce<Due | null>(
        (first, other) =>
          first === null ||
          other.at < first.at ||
          (other.at === first.at && other.order < first.order)
            ? other
            : first,
        null,
      );
      if (next === null || next.at > end) return happened;
      due = due.filter((other) => other !== next);
      now = Math.max(now, next.at);
      happened += 1;
      await next.happen();
    }
  }

  return {
    now: () => now,
    after: (ms, happen) => {
      order += 1;
      due.push({ at: now + ms, order, happen });
    },
    runUntil,
  };
}
