// Brings what the outbox holds to the callbacks: at least once, in order for each attempt and callback, with patience.
import type { Clock } from "../base/clock.ts";
import { point } from "../base/point.ts";
import type { Signals } from "../execution/signals.ts";
import type { Store } from "../store/store.ts";
import type { ClaimedDelivery } from "../store/uses/deliveries.ts";
import { TRY_MS, type Deliver, type Tried } from "./deliver.ts";
import { nextTry } from "./retry.ts";

/** Deliveries under way at the same time. */
const SLOTS = 16;
/** Longer than a try can last; what a dead plane had taken is due again after it. */
export const CLAIM_MS = TRY_MS + 5_000;
/** A wake may be lost: look by itself this often, and never more often than the other. */
const LOOK_MS = { most: 1_000, least: 20 } as const;

export interface OutboxParts {
  readonly store: Pick<Store, "claimDeliveries" | "settleDelivery" | "nextDeliveryAt">;
  readonly clock: Clock;
  readonly signals: Signals;
  readonly topic: string;
  readonly deliver: Deliver;
  /** At least 0 and below 1. */
  readonly chance: () => number;
  /** Names this process among the planes of one database. */
  readonly claimedBy: string;
  /** Hears of each try that brought nothing. */
  readonly onFailed: (delivery: ClaimedDelivery, tried: Tried, dead: boolean) => void;
}

export interface Outbox {
  readonly start: (onDefect: (error: unknown) => void) => void;
  /** Takes nothing more and waits for what is under way. */
  readonly stop: () => Promise<void>;
}

export function createOutbox(parts: OutboxParts): Outbox {
  const { store, clock, signals, topic } = parts;
  const state = { ending: false };
  const underWay = new Set<Promise<void>>();
  let loop: Promise<void> = Promise.resolve();

  async function watch(onDefect: (error: unknown) => void): Promise<void> {
    while (!state.ending) {
      const taken = await take();
      for (const delivery of taken) launch(delivery, onDefect);
      if (taken.length > 0) continue;
      const ms = await pause();
      if (!state.ending) await signals.listen(topic, ms).woken;
    }
  }

  async function take(): Promise<readonly ClaimedDelivery[]> {
    const limit = SLOTS - underWay.size;
    if (limit === 0) return [];
    const now = clock.now();
    const { claimedBy } = parts;
    return store.claimDeliveries({ claimedBy, now, until: now + CLAIM_MS, limit });
  }

  async function pause(): Promise<number> {
    if (underWay.size >= SLOTS) return LOOK_MS.most;
    const at = await store.nextDeliveryAt();
    const left = at === null ? LOOK_MS.most : at - clock.now();
    return Math.min(LOOK_MS.most, Math.max(LOOK_MS.least, left));
  }

  function launch(delivery: ClaimedDelivery, onDefect: (error: unknown) => void): void {
    const work = tryOnce(delivery)
      .catch(onDefect)
      .finally(() => {
        underWay.delete(work);
        // The next of its attempt may be sent now, and a slot is free.
        signals.wake(topic);
      });
    underWay.add(work);
  }

  async function tryOnce(delivery: ClaimedDelivery): Promise<void> {
    const tried = await parts.deliver(delivery);
    point("outbox.sent");
    const { tries, since } = delivery;
    const again =
      tried.error === null || isFinal(tried)
        ? null
        : nextTry({ tries: tries + 1, since, now: clock.now() }, parts.chance());
    const settled = await store.settleDelivery({ delivery, ...tried, nextTry: again });
    if (settled && tried.error !== null) parts.onFailed(delivery, tried, again === null);
  }

  return {
    start: (onDefect) => {
      loop = watch(onDefect).catch(onDefect);
    },
    stop: async () => {
      state.ending = true;
      signals.wake(topic);
      await loop;
      await Promise.all(underWay);
    },
  };
}

/** What is refused here is refused for ever; somebody must look at it. */
function isFinal({ error }: Tried): boolean {
  return error === "url_refused" || error === "address_refused";
}
