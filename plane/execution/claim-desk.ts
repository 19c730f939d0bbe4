// Serves claims that come at the same time in one transaction: what waits for the disk waits once for all of them.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../base/clock.ts";
import type { Store } from "../store/store.ts";
import type { Claim, Claimed } from "../store/uses/claim-next.ts";

/** Claims that one transaction serves at most. */
const BATCH_MAX = 32;

export interface ClaimDeskParts {
  readonly store: Pick<Store, "claimWaiting">;
  readonly clock: Clock;
  readonly ttlMs: number;
}

interface Asked {
  readonly claim: Claim;
  readonly jobTypes: readonly string[];
  readonly resolve: (claimed: Claimed | null) => void;
  readonly reject: (error: unknown) => void;
}

export interface ClaimDesk {
  readonly claim: (claim: Claim, jobTypes: readonly string[]) => Promise<Claimed | null>;
}

export function createClaimDesk({ store, clock, ttlMs }: ClaimDeskParts): ClaimDesk {
  const waiting: Asked[] = [];
  let serving = false;

  async function serve(): Promise<void> {
    serving = true;
    // Those who heard at the same time ask again at the same time: one turn of the loop later all of them are here.
    for (await nextTurn(); waiting.length > 0; await nextTurn()) await serveSome(takeAlike());
    serving = false;
  }

  /** The first that waits, and whoever else takes the same job types. */
  function takeAlike(): Asked[] {
    const kind = kindOf(waiting[0]);
    const alike = waiting.filter((asked) => kindOf(asked) === kind).slice(0, BATCH_MAX);
    for (const asked of alike) waiting.splice(waiting.indexOf(asked), 1);
    return alike;
  }

  async function serveSome(asked: readonly Asked[]): Promise<void> {
    const jobTypes = asked[0]?.jobTypes ?? [];
    const claims = asked.map(({ claim }) => claim);
    try {
      const found = await store.claimWaiting({ claims, jobTypes, ttlMs, now: clock.now() });
      for (const [index, { resolve }] of asked.entries()) resolve(found[index] ?? null);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }

  return {
    claim: (claim, jobTypes) =>
      new Promise((resolve, reject) => {
        waiting.push({ claim, jobTypes, resolve, reject });
        if (!serving) void serve();
      }),
  };
}

function kindOf(asked: Asked | undefined): string {
  return (asked?.jobTypes ?? []).toSorted().join(" ");
}
