// Claims work while there are free slots and carries each grant out beside the others.
import { setTimeout as delay } from "node:timers/promises";
import { AimError, type AttemptGrant, type InspectionGrant } from "@aim/contract";
import { carryOut } from "../attempt/carry-out.ts";
import { look } from "../attempt/look.ts";
import { newId } from "../ids.ts";
import type { RunnerParts } from "../parts.ts";

const WAIT_MS = 20_000;
const RETRY_MS = 500;

export interface ClaimLoop {
  /** Claims nothing more and waits for what is under way. */
  readonly drain: () => Promise<void>;
  /** Ids of what is under way. */
  readonly held: () => readonly string[];
}

export interface ClaimOptions {
  readonly slots: number;
  readonly register: () => Promise<void>;
  /** The plane asks this runner to finish what it holds and to end. */
  readonly onDrain: () => void;
}

export function startClaimLoop(parts: RunnerParts, options: ClaimOptions): ClaimLoop {
  const { slots, register, onDrain } = options;
  const gone = new AbortController();
  const busy = new Set<string>();

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
        if (grant?.kind === "drain") {
          gone.abort();
          onDrain();
        } else if (grant !== null) await take(grant);
      } catch (error) {
        if (gone.signal.aborted) return;
        await delay(RETRY_MS);
        // A plane that was started anew does not know this runner yet.
        if (error instanceof AimError) await register().catch(() => undefined);
      }
    }
  }

  async function take(grant: AttemptGrant | InspectionGrant): Promise<void> {
    const id = grant.kind === "attempt" ? grant.attempt_id : grant.inspection_id;
    const carried = (grant.kind === "attempt" ? carryOut(parts, grant) : look(parts, grant)).catch(
      (error: unknown) => parts.log("defect", error),
    );
    busy.add(id);
    await carried;
    busy.delete(id);
  }

  const workers = Array.from({ length: slots }, work);
  return {
    drain: async () => {
      gone.abort();
      await Promise.all(workers);
    },
    held: () => [...busy],
  };
}
