// The text of the live region: at most eight lines, no percentage, no guess of what is left.
import type { Progress } from "../run/progress.ts";
import { visible } from "./escape.ts";
import { STATUS_HUES, type Paint } from "./style.ts";
import { truncate } from "./width.ts";

export const REGION_LINES_MAX = 8;
const TASKS_SHOWN = 3;

const GLYPHS = { ok: "✓", changed: "△", failed: "✕", unreachable: "⌁", skipped: "–" } as const;
const STATUSES = ["ok", "changed", "failed", "unreachable", "skipped"] as const;

export interface Moment {
  /** Seconds since this command began to watch. */
  readonly elapsedS: number;
  /** Seconds since the last event arrived; null before the first. */
  readonly lastEventAgeS: number | null;
  readonly columns: number;
  readonly paint: Paint;
  /** What the first Ctrl-C does. */
  readonly hint: string;
}

export function regionLines(progress: Progress, moment: Moment): string[] {
  const columns = Math.max(20, moment.columns - 1);
  const cut = (text: string) => truncate(text, columns);
  const lines = ["─".repeat(columns)];
  if (progress.playLabel !== null) lines.push(cut(` PLAY ${visible(progress.playLabel)}`));
  for (const task of progress.currentTasks(TASKS_SHOWN)) {
    const word = task.handler ? "HANDLER" : "TASK";
    const results = `${task.results} ${task.results === 1 ? "result" : "results"}`;
    const label = truncate(visible(task.label), columns - results.length - word.length - 5);
    lines.push(cut(` ${word} ${label}  ${results}`));
  }
  lines.push(countsLine(progress, moment.paint, columns));
  lines.push(cut(` ${clockLine(progress, moment)}`));
  lines.push(moment.paint("dim", cut(` ${moment.hint}`)));
  return lines;
}

function countsLine(progress: Progress, paint: Paint, columns: number): string {
  const counts = progress.counters ?? progress.hostCounts();
  const noun = progress.counters === null ? "hosts" : "results";
  const words = STATUSES.map((status) => `${GLYPHS[status]} ${counts[status]} ${status}`);
  const tail =
    progress.withheldResults > 0 ? `  ◪ ${progress.withheldResults} withheld results` : "";
  const plain = ` ${noun}  ${words.join("  ")}${tail}`;
  // Colour codes have no width but cannot be cut in the middle, so a narrow terminal gets none.
  if (truncate(plain, columns) !== plain) return truncate(plain, columns);
  const painted = words.map((word, index) => {
    const status = STATUSES[index] ?? "ok";
    return counts[status] > 0 ? paint(STATUS_HUES[status], word) : paint("dim", word);
  });
  return ` ${noun}  ${painted.join("  ")}${tail}`;
}

function clockLine(progress: Progress, moment: Moment): string {
  const stage = progress.stage ?? "waiting for a runner";
  const age = moment.lastEventAgeS;
  const last = age === null ? "no event yet" : `last event ${duration(age)} ago`;
  return `${visible(stage)}   elapsed ${duration(moment.elapsedS)}   ${last}`;
}

/** `7s`, `4m12s`, `2h05m`. */
function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const minutes = Math.floor(whole / 60);
  if (minutes === 0) return `${whole}s`;
  const hours = Math.floor(minutes / 60);
  if (hours === 0) return `${minutes}m${String(whole % 60).padStart(2, "0")}s`;
  return `${hours}h${String(minutes % 60).padStart(2, "0")}m`;
}

/** The line of a pipe that has heard nothing new to print for a while. */
export function heartbeatLine(
  progress: Progress,
  moment: Pick<Moment, "elapsedS" | "lastEventAgeS">,
): string {
  const counts = progress.counters ?? progress.hostCounts();
  const noun = progress.counters === null ? "hosts" : "results";
  const words = STATUSES.filter((status) => counts[status] > 0).map(
    (status) => `${counts[status]} ${status}`,
  );
  const seen = words.length === 0 ? "no result yet" : `${noun}: ${words.join(", ")}`;
  const age = moment.lastEventAgeS;
  const last = age === null ? "no event yet" : `last event ${duration(age)} ago`;
  return `aimctl: still running after ${duration(moment.elapsedS)}, ${seen}, ${last}`;
}
