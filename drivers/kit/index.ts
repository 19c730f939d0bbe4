// What a driver is and what it is lent. A driver reaches the world through its context and nothing else.
import type {
  ArtifactFile,
  EventBody,
  Finding,
  JobSpec,
  NetworkRule,
  Outcome,
} from "@aim/contract";
import type { TSchema } from "typebox";

/** Everything about a job type that a client or the plane may know: data and pure functions. */
export interface JobTypeDeclaration {
  readonly jobType: string;
  readonly title: string;
  readonly inputsSchema: TSchema;
  readonly evidenceSchema: TSchema;
  readonly effect: "none" | "change" | "destroy";
  readonly dryRun: boolean;
  readonly retryAfterLoss: "safe" | "ask" | "never";
  /** What the sandbox opens for this job, and nothing else. */
  readonly requirements: (inputs: unknown) => Requirements;
  readonly policy: (inputs: unknown) => readonly Finding[];
}

export interface Requirements {
  readonly executables: readonly string[];
  readonly credentialSlots: readonly string[];
}

/** A job type that a runner can carry out. */
export interface JobType extends JobTypeDeclaration {
  readonly run: (context: AttemptContext) => Promise<Outcome>;
  /** Looks at reviewed content without contacting anything; answers what a reviewer must know. */
  readonly inspect: (context: InspectionContext) => Promise<unknown>;
}

/** Bytes for the tool that never stand on a command line, in an environment or on a disk. */
export type PrivateInput =
  | { readonly kind: "pipe" | "fifo" | "file"; readonly name: string; readonly bytes: Uint8Array }
  | { readonly kind: "ssh_key"; readonly bytes: Uint8Array; readonly passphrase?: Uint8Array };

export interface ToolCall {
  /** `{fd:NAME}` and `{path:NAME}` inside an argument stand for a private input or the channel `frames`. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly inputs: readonly PrivateInput[];
}

export interface ToolExit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly reason: "exited" | "stopped" | "deadline" | "lease" | "sandbox_died";
}

export interface ToolRun {
  /** Raw bytes of the tool's private channel, as they come. */
  readonly frames: AsyncIterable<Uint8Array>;
  /** Settles when the tool and everything it started is gone. */
  readonly exit: Promise<ToolExit>;
}

/** Where the runner's own tool chain lies inside the sandbox. */
export interface Toolchain {
  readonly python: string;
  readonly callbackDir: string;
  /** Hex SHA-256 of the callback's sources, as the callback itself reports it. */
  readonly callbackDigest: string;
  readonly workspace: string;
}

interface WorkspaceContext {
  readonly toolchain: Toolchain;
  /** Places of the bundle's files, relative to the workspace. */
  readonly files: readonly string[];
  readFile: (path: string) => Promise<Uint8Array>;
  /** Adds a file to the workspace. Before `startTool` only. */
  writeFile: (path: string, bytes: string | Uint8Array) => Promise<void>;
  /** Starts the one tool of this sandbox. May be called once. */
  startTool: (call: ToolCall) => Promise<ToolRun>;
  /** Unguessable text, fresh at each call. */
  nonce: () => string;
}

export interface InspectionContext extends WorkspaceContext {
  readonly jobType: string;
  readonly inputs: unknown;
}

export interface AttemptContext extends WorkspaceContext {
  readonly attemptId: string;
  readonly spec: JobSpec;
  readonly credentials: ReadonlyMap<string, Uint8Array>;
  /** Current time as events carry it. Never goes back. */
  timestamp: () => string;
  emit: (event: EventBody) => void;
  /** Keeps bytes as an artifact of the attempt. */
  keep: (path: string, kind: ArtifactFile["kind"], bytes: string | Uint8Array) => void;
  /** Tells the plane that the tool now runs, or that it ended and is being accounted for. */
  move: (to: "running" | "finalizing") => Promise<void>;
  /** Why the attempt was asked to stop, if it was. */
  stopReason: () => "cancelled" | "timed_out" | null;
}

/** What an inspection answers; the plane builds review and revision from it. */
export type Inspection =
  | {
      readonly ok: true;
      readonly controller: {
        readonly ansible_core: string;
        readonly python: string;
        readonly callback_digest: string;
      };
      /** Every inventory name, in inventory order. */
      readonly hosts: readonly string[];
      /** The names that the request or its limit selects. */
      readonly selected: readonly string[];
      readonly network: readonly NetworkRule[];
      readonly findings: readonly Finding[];
      readonly findings_omitted: number;
      readonly destructive_because: readonly string[];
      readonly command: readonly string[];
    }
  | { readonly ok: false; readonly code: string; readonly at: string | null };
