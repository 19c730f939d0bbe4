// `aimctl watch`: shows a run from its start or from a sequence on, and goes on live.
import { connect } from "../connection.ts";
import type { ExitCode } from "../exit-codes.ts";
import { presentRun, type Presentation } from "../run/present.ts";
import type { GlobalFlags } from "../settings.ts";

export interface WatchFlags extends GlobalFlags, Presentation {
  readonly after: number;
}

export function watch(runId: string, flags: WatchFlags): Promise<ExitCode> {
  const client = connect(flags);
  const open = (signal: AbortSignal) => client.follow(runId, flags.after, { signal });
  return presentRun({ runId, open }, flags);
}
