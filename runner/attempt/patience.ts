// Repeats a call to a plane that does not answer, as long as the lease lives: a plane may be restarting.
import { setTimeout as delay } from "node:timers/promises";
import { AimError } from "@aim/contract";

const RETRY_MS = 250;

export interface Patience {
  /** On this process's monotonic line. */
  readonly leaseUntil: number;
  readonly lost: boolean;
}

/** The call must be one that may be made twice. A refusal is an answer and is thrown at once. */
export async function patiently<T>(holder: Patience, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const over = holder.lost || performance.now() + RETRY_MS >= holder.leaseUntil;
      if (error instanceof AimError || over) throw error;
      await delay(RETRY_MS);
    }
  }
}
