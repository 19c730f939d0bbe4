// Reads a run to its end and shows it in the form that was asked for. Ending the reading never ends the run.
import type { RunResult } from "@aim/contract";
import { isAimError, isClientError, type RunLine } from "@aim/sdk";
import { EXIT, exitOfResult, type ExitCode } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { endingLines } from "../render/recap.ts";
import { visible } from "../render/escape.ts";
import { heartbeatLine, regionLines } from "../render/region.ts";
import { Screen } from "../render/screen.ts";
import { Scrollback } from "../render/scrollback.ts";
import { painter } from "../render/style.ts";
import { isDumbTerminal, wantsColor, type ColorChoice } from "../settings.ts";
import { onInterrupt } from "./interrupt.ts";
import { Progress } from "./progress.ts";

type OutputForm = "text" | "json" | "ndjson";

export interface Presentation {
  readonly output: OutputForm;
  readonly color: ColorChoice;
}

const REDRAW_MS = 100;
const HEARTBEAT_MS = 30_000;
const HINT = "Ctrl-C detaches (the run goes on)";

/** Opens the stream with a signal that ends the reading; the run's id where it is known before the first event. */
export interface Source {
  readonly runId: string | null;
  readonly open: (signal: AbortSignal) => AsyncIterable<RunLine>;
}

/**
 * Shows the run and gives the exit status for its result, 130 when somebody detached.
 * Throws what the stream throws, and CliFault 8 when a stream breaks after the run was asked for.
 */
export async function presentRun(source: Source, presentation: Presentation): Promise<ExitCode> {
  const reading = new AbortController();
  const view = new View(presentation);
  const interrupt = onInterrupt(() => reading.abort());
  view.start();
  try {
    const result = await readToEnd(source.open(reading.signal), view);
    view.end(result);
    return exitOfResult(result);
  } catch (error) {
    view.stop();
    if (reading.signal.aborted) return detached(view.progress.runId ?? source.runId);
    throw asUnknownOutcome(error, view.progress.runId ?? source.runId);
  } finally {
    view.stop();
    interrupt.dispose();
  }
}

async function readToEnd(lines: AsyncIterable<RunLine>, view: View): Promise<RunResult> {
  for await (const line of lines) {
    view.show(line);
    if (line.type === "response") return line.response;
  }
  throw new CliFault(EXIT.unknownOutcome, "The answer ended without a result.");
}

/** Tells how to come back. The exit status of a detached command. */
function detached(runId: string | null): ExitCode {
  const way =
    runId === null
      ? "Detached. The run may have been accepted: aimctl status lists the newest runs."
      : `Detached, run goes on: aimctl watch ${visible(runId)} · aimctl cancel ${visible(runId)}`;
  process.stderr.write(`${way}\n`);
  return EXIT.detached;
}

function asUnknownOutcome(error: unknown, runId: string | null): unknown {
  if (isAimError(error) || !isClientError(error)) return error;
  if (error.code === "unreachable" && runId === null) return error;
  const way =
    runId === null ? "aimctl status lists the newest runs." : `Try aimctl watch ${visible(runId)}.`;
  return new CliFault(
    EXIT.unknownOutcome,
    `${error.message} What became of the run is not known here. ${way}`,
  );
}

class View {
  readonly progress = new Progress();
  readonly #presentation: Presentation;
  readonly #paint: ReturnType<typeof painter>;
  readonly #errPaint: ReturnType<typeof painter>;
  readonly #scrollback: Scrollback;
  readonly #screen: Screen;
  readonly #live: boolean;
  readonly #began = performance.now();
  #lastEvent: number | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(presentation: Presentation) {
    const { stdout, stderr } = process;
    this.#presentation = presentation;
    this.#paint = painter(wantsColor(presentation.color, stdout));
    this.#errPaint = painter(wantsColor(presentation.color, stderr));
    this.#scrollback = new Scrollback(this.#paint);
    this.#live = stderr.isTTY && !isDumbTerminal();
    this.#screen = new Screen({
      out: stdout,
      err: stderr,
      live: this.#live,
      shared: stdout.isTTY,
      columns: () => stderr.columns || 80,
    });
  }

  start(): void {
    const work = this.#live ? () => this.#draw() : () => this.#beat();
    this.#timer = setInterval(work, this.#live ? REDRAW_MS : HEARTBEAT_MS);
  }

  show(line: RunLine): void {
    if (line.type === "event") {
      this.#lastEvent = performance.now();
      this.progress.take(line.event);
    }
    if (this.#presentation.output === "ndjson") this.#screen.append([JSON.stringify(line)]);
    if (this.#presentation.output === "text" && line.type === "event") {
      this.#screen.append(this.#scrollback.lines(line.event));
    }
  }

  /** Takes the region away and prints what the form wants at the end. */
  end(result: RunResult): void {
    this.stop();
    if (this.#presentation.output === "json") process.stdout.write(`${JSON.stringify(result)}\n`);
    if (this.#presentation.output !== "text") return;
    const ending = { result, recaps: this.progress.recaps, advice: [...this.progress.advice] };
    process.stdout.write(`${endingLines(ending, this.#paint).join("\n")}\n`);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#screen.finish();
  }

  #moment(): { elapsedS: number; lastEventAgeS: number | null } {
    const now = performance.now();
    return {
      elapsedS: (now - this.#began) / 1000,
      lastEventAgeS: this.#lastEvent === null ? null : (now - this.#lastEvent) / 1000,
    };
  }

  #draw(): void {
    const columns = process.stderr.columns || 80;
    const moment = { ...this.#moment(), columns, paint: this.#errPaint, hint: HINT };
    this.#screen.draw(regionLines(this.progress, moment));
  }

  #beat(): void {
    process.stderr.write(`${heartbeatLine(this.progress, this.#moment())}\n`);
  }
}
