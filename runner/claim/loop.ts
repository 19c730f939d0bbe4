// Claims work while there are free slots and carries each grant out beside the others.
import { setTimeout as delay } from "node:timers/promises";
import { AimError, type Grant } from "@aim/contract";
import { carryOut } from "../attempt/carry-out.ts";
import { look } from "../attempt/look.ts";
import { newId } from "../ids.ts";
import type { RunnerParts } from "../parts.ts";

const WAIT_MS = 20_000;
const RETRY_MS = 500;

export interface ClaimLoop {
  /** Claims nothing more and waits for what is under way. */
  readonly drain: () => Promise<void>;
}

export function startClaimLoop(
  parts: RunnerParts,
  slots: number,
  register: () => Promise<void>,
): ClaimLoop {
  const gone = new AbortController();
  const busy = new Set<Promise<void>>();

  async function work(): Promise<void> {
    let claimId = newId("clm");
    while (!gone.signal.aborted) {
      try {
        const grant = await parts.plane.claim(
          { runner_instance_id: parts.instanceId, claim_id: claimId, wait_ms: WAIT_MS },
          gone.signal,
        );
        // The same id is sent again until an answer was heard: a lost answer loses no grant.
        claimId = newId("clm");
        if (grant !== null) await take(grant);
      } catch (error) {
        if (gone.signal.aborted) return;
        await delay(RETRY_MS);
        // A plane that was started anew does not know this runner yet.
        if (error instanceof AimError) await register().catch(() => undefined);
      }
    }
  }

  async function take(grant: Grant): Promise<void> {
    const carried = (grant.kind === "attempt" ? carryOut(parts, grant) : look(parts, grant)).catch(
      (error: unknown) => parts.log("defect", error),
    );
    busy.add(carried);
    void carried.finally(() => busy.delete(carried));
    await carried;
  }

  const workers = Array.from({ length: slots }, work);
  return {
    drain: async () => {
      gone.abort();
      await Promise.all([...busy, ...workers]);
    },
  };
}
