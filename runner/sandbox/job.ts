// SPDX-License-Identifier: Apache-2.0
// What is run inside a sandbox, and how it is put on the control socket.
// Private bytes go behind the JSON of their message, never into a string.
import { encodeMessage } from "./control.ts";
import { SandboxError } from "./config.ts";

interface NamedInput {
  /** `[a-z0-9][a-z0-9_-]*`; `frames` is taken. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * A value only the tool may see. The bytes are copied once, to the socket;
 * the caller overwrites its own after `start` has resolved.
 */
export type PrivateInput =
  /** A pipe; `{fd:NAME}` in an argument becomes its number. Read once. */
  | ({ readonly kind: "pipe" } & NamedInput)
  /** A FIFO; `{path:NAME}` becomes its path. Opened and read once. */
  | ({ readonly kind: "fifo" } & NamedInput)
  /** A 0400 file on the sandbox's tmpfs; `{path:NAME}` becomes its path. */
  | ({ readonly kind: "file" } & NamedInput)
  /** Held by an ssh-agent of the sandbox's own; SSH_AUTH_SOCK is set. */
  | { readonly kind: "ssh_key"; readonly bytes: Uint8Array; readonly passphrase?: Uint8Array };

export interface SandboxJob {
  /** argv[0] is an absolute path inside. */
  readonly argv: readonly string[];
  /** Added to HOME, USER, LOGNAME, PATH, LANG and TMPDIR. Never a secret. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly inputs: readonly PrivateInput[];
  /** `{fd:frames}` in an argument becomes the number of the private channel. */
  readonly channel: "frames" | null;
  /** From the tool's start; counted inside, in suspend too. */
  readonly timeoutMs?: number;
  /** Between stop signal and SIGKILL after `timeoutMs`. */
  readonly graceMs?: number;
  /** ansible-playbook tidies up on SIGINT only; most others on SIGTERM. */
  readonly stopSignal?: "SIGTERM" | "SIGINT";
}

export const STANDARD_ENVIRONMENT: Readonly<Record<string, string>> = {
  HOME: "/home/aim",
  USER: "aim",
  LOGNAME: "aim",
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LANG: "C.UTF-8",
  TMPDIR: "/tmp",
};

const DEFAULT_GRACE_MS = 5_000;
const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const LARGEST_PRIVATE = 64 << 20;

function problem(detail: string): never {
  throw new SandboxError("start", detail);
}

function checkJob(job: SandboxJob): void {
  if (!job.argv[0]?.startsWith("/")) problem("argv[0] is no absolute path");
  if (!job.cwd.startsWith("/")) problem("cwd is no absolute path");
  const texts = [...job.argv, ...Object.entries(job.env).flat(), job.cwd];
  if (texts.some((text) => text.includes("\0"))) problem("NUL byte");
  if (Object.keys(job.env).some((key) => key === "" || key.includes("="))) problem("variable name");
  const names = job.inputs.flatMap((input) => (input.kind === "ssh_key" ? [] : [input.name]));
  const bad = names.some((name) => !NAME.test(name) || name === "frames");
  if (bad || new Set(names).size < names.length) problem("input name");
}

/** Buffers to write in order; the private ones are the caller's own bytes. */
export function encodeStart(job: SandboxJob): Uint8Array[] {
  checkJob(job);
  const inputs = job.inputs.map((input) => {
    const own = input.bytes.byteLength;
    if (input.kind !== "ssh_key") return { kind: input.kind, name: input.name, size: own };
    const passphrase = input.passphrase?.byteLength ?? 0;
    return { kind: input.kind, name: "", size: own + passphrase, passphrase };
  });
  const blobs = job.inputs.flatMap((input) =>
    input.kind === "ssh_key" && input.passphrase ? [input.bytes, input.passphrase] : [input.bytes],
  );
  if (blobs.reduce((sum, blob) => sum + blob.byteLength, 0) > LARGEST_PRIVATE) {
    throw new SandboxError("start", "private inputs too large");
  }
  const head = {
    type: "start",
    argv: job.argv,
    env: { ...STANDARD_ENVIRONMENT, ...job.env },
    cwd: job.cwd,
    inputs,
    channel: job.channel,
    timeout_ms: job.timeoutMs ?? null,
    grace_ms: job.graceMs ?? DEFAULT_GRACE_MS,
    stop_signal: job.stopSignal ?? "SIGTERM",
  };
  return encodeMessage(head, blobs);
}
