// What everything in a runner shares. Assembled in main.ts.
import type { LeaseKeeper } from "./attempt/lease.ts";
import type { PlaneClient } from "./plane-client.ts";
import type { SandboxSource } from "./sandboxes.ts";
import type { RunnerToolchain } from "./toolchain.ts";

export interface RunnerParts {
  readonly instanceId: string;
  readonly plane: PlaneClient;
  readonly leases: LeaseKeeper;
  readonly sandboxes: SandboxSource;
  readonly toolchain: RunnerToolchain;
  /** One JSON line to the service log. Never holds data of a job. */
  readonly log: (code: string, error?: unknown) => void;
}
