// `aimctl cancel`: asks for a stop and waits until the run has ended, whichever way.
import type { RunResult } from "@aim/contract";
import { type Client } from "@aim/sdk";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { onInterrupt } from "../run/interrupt.ts";
import type { OutputFlags } from "../settings.ts";

export interface CancelFlags extends OutputFlags {
  /** False for `--no-wait`. */
  readonly wait: boolean;
}

export async function cancel(runId: string, flags: CancelFlags): Promise<ExitCode> {
  const client = connect(flags);
  const asked = await client.cancel(runId);
  if (!flags.wait) {
    print(flags, asked, () => [`Cancel asked, state ${visible(asked.state)}.`]);
    return asked.state === "lost" ? EXIT.unknownOutcome : EXIT.ok;
  }
  const result = await waitForEnd(client, runId);
  if (result === null) return EXIT.detached;
  print(flags, result, () => [endSentence(result)]);
  // Something may be left of a run whose runner never said how it ended, whatever its state is called.
  return result.kill_confirmed ? EXIT.ok : EXIT.unknownOutcome;
}

async function waitForEnd(client: Client, runId: string): Promise<RunResult | null> {
  const reading = new AbortController();
  const interrupt = onInterrupt(() => reading.abort());
  try {
    for await (const line of client.follow(runId, 0, { signal: reading.signal })) {
      if (line.type === "response") return line.response;
    }
  } catch (error) {
    if (!reading.signal.aborted) throw error;
    process.stderr.write("The cancel stays asked for; this command no longer waits for it.\n");
    return null;
  } finally {
    interrupt.dispose();
  }
  throw new CliFault(EXIT.unknownOutcome, "The answer ended without a result.");
}

function endSentence(result: RunResult): string {
  const proof = result.kill_confirmed
    ? "Nothing of it is left running here."
    : "Whether all of it has ended is not confirmed.";
  const effect =
    result.effect === "unknown" ? " What it did on its targets is not fully known." : "";
  return `Ended as ${visible(result.state)}. ${proof}${effect}`;
}
