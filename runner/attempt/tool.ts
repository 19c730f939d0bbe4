// Starts the one tool of a sandbox for a driver and drains what it prints: counted, never kept.
import type { Readable } from "node:stream";
import type { ToolCall, ToolRun } from "@aim/drivers/kit";
import type { Sandbox, SandboxProcess } from "../sandbox/sandbox.ts";

export interface ToolLimits {
  readonly timeoutMs: number;
  readonly graceMs: number;
}

export interface StartedTool {
  readonly run: ToolRun;
  readonly process: SandboxProcess;
  /** Bytes of standard output and error, for the record that there were some. */
  readonly printed: () => number;
}

export async function startTool(
  sandbox: Sandbox,
  call: ToolCall,
  limits: ToolLimits,
): Promise<StartedTool> {
  const process = await sandbox.start({ ...call, ...limits, channel: "frames" });
  let printed = 0;
  const drain = (stream: Readable) => {
    stream.on("data", (piece: Uint8Array) => {
      printed += piece.length;
    });
    stream.on("error", () => undefined);
  };
  drain(process.stdout);
  drain(process.stderr);
  if (process.frames === null) throw new Error("the sandbox gave no channel");
  return {
    process,
    printed: () => printed,
    run: { frames: process.frames as AsyncIterable<Uint8Array>, exit: process.exit },
  };
}
