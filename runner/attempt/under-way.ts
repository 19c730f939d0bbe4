// One attempt while it is carried out: what its parts share.
import type { AttemptGrant } from "@aim/contract";
import type { ArtifactShelf } from "../bundle/artifacts.ts";
import type { CaptureQueue } from "../capture/queue.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Emitter } from "./emitter.ts";
import type { Stop } from "./failed.ts";
import type { StartedTool } from "./tool.ts";

/** Everything that belongs to one attempt while it is carried out. */
export interface Attempt {
  readonly grant: AttemptGrant;
  readonly queue: CaptureQueue;
  readonly emitter: Emitter;
  readonly shelf: ArtifactShelf;
  readonly timestamp: () => string;
  /** On this process's own monotonic line. */
  readonly deadline: number;
  /** Until then the lease lives, counted from the moment its last extension was asked for. */
  leaseUntil: number;
  sandbox: Sandbox | null;
  tool: StartedTool | null;
  stop: Stop | null;
  graceMs: number;
  lost: boolean;
  phase: "preparing" | "running" | "finalizing" | "stopping";
}
