// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder start from. Not for use outside tests.
import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { SandboxConfig } from "../config.ts";
import { openSandbox } from "../sandbox.ts";
import type { Sandbox, SandboxJob } from "../sandbox.ts";

/** The directory is short on purpose: a UNIX socket lies below it. */
export function testConfig(
  runtimeDir = mkdtempSync("/tmp/aim-sb-"),
): SandboxConfig & { readonly [Symbol.dispose]: () => void } {
  return {
    bwrap: "/usr/bin/bwrap",
    python: "/usr/bin/python3",
    runtimeDir,
    readOnly: [],
    uid: process.getuid?.() === 0 ? 64_242 : null,
    limits: {
      memoryBytes: 1 << 30,
      pids: 256,
      fileBytes: 1 << 30,
      openFiles: 1_024,
      tmpBytes: 32 << 20,
    },
    [Symbol.dispose]: () => {
      rmSync(runtimeDir, { recursive: true, force: true });
    },
  };
}

export function testJob(argv: readonly string[], changes: Partial<SandboxJob> = {}): SandboxJob {
  return { argv, env: {}, cwd: "/work", inputs: [], channel: null, ...changes };
}

export const shell = (script: string, ...values: readonly string[]): readonly string[] => [
  "/bin/sh",
  "-c",
  script,
  "sh",
  ...values,
];

export async function withSandbox<T>(
  use: (sandbox: Sandbox, config: SandboxConfig) => Promise<T>,
): Promise<T> {
  using config = testConfig();
  const sandbox = await openSandbox(config, "test");
  try {
    return await use(sandbox, config);
  } finally {
    await sandbox.destroy();
  }
}

export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  return address.port;
}

/** Polls until `holds`, at most `ms`; answers whether it came to hold. */
export async function comesTrue(holds: () => boolean, ms: number): Promise<boolean> {
  const giveUp = performance.now() + ms;
  while (!holds()) {
    if (performance.now() > giveUp) return false;
    await pause(10);
  }
  return true;
}

/** Children in own sessions, orphans, TERM ignored, and one that forks without end. */
export const HOSTILE = `
trap '' TERM INT HUP
for i in 1 2 3 4; do
  setsid sh -c 'trap "" TERM INT HUP; while :; do sleep 5; done' &
  ( ( trap '' TERM INT HUP; exec sleep 1000 ) & )
done
setsid sh -c 'trap "" TERM INT HUP; while :; do sleep 0.001 & done' 2>/dev/null &
echo up
while :; do sleep 1; done
`;
