// What stands at the end: PLAY RECAP as Ansible prints it, the outcome of each target, the result, the next step.
import {
  TARGET_OUTCOMES,
  type AttemptState,
  type Counts,
  type RunEventOf,
  type RunResult,
  type Target,
  type TargetOutcome,
} from "@aim/contract";
import { visible } from "./escape.ts";
import { banner, hostName } from "./scrollback.ts";
import { OUTCOME_HUES, type Hue, type Paint } from "./style.ts";
import { displayWidth, padEnd } from "./width.ts";

/** Above this many targets only those that need a look are listed. */
const TARGETS_LISTED_MAX = 40;
const ANSIBLE_HOST_COLUMNS = 26;
const ANSIBLE_COUNT_COLUMNS = 4;

const GOOD: ReadonlySet<TargetOutcome> = new Set(["succeeded", "changed", "skipped"]);

const COLUMNS: readonly (readonly [word: string, member: keyof Counts, hue: Hue])[] = [
  ["ok", "ok", "green"],
  ["changed", "changed", "yellow"],
  ["unreachable", "unreachable", "magenta"],
  ["failed", "failures", "red"],
  ["skipped", "skipped", "cyan"],
  ["rescued", "rescued", "green"],
  ["ignored", "ignored", "cyan"],
];

const STATE_HUES: Partial<Record<AttemptState, Hue>> = { succeeded: "green", lost: "magenta" };

/** One row of PLAY RECAP. Rows without a name are never merged: nobody knows that they are one machine. */
export interface RecapRow {
  readonly host: string | null;
  readonly counts: Counts;
}

export interface Ending {
  readonly result: RunResult;
  readonly recaps: readonly Pick<RunEventOf<"host_recap">, "host" | "counts">[];
  /** Advice of the causes seen, without repeats. */
  readonly advice: readonly string[];
}

/** The lines after the last event. */
export function endingLines({ result, recaps, advice }: Ending, paint: Paint): string[] {
  return [
    ...recapLines(recapRows(result, recaps), paint),
    ...targetLines(result, paint),
    ...resultLines(result, paint),
    ...adviceLines(advice),
  ];
}

export function recapLines(rows: readonly RecapRow[], paint: Paint): string[] {
  if (rows.length === 0) return [];
  const names = rows.map((row) => hostName(row.host));
  const columns = names.reduce(
    (most, name) => Math.max(most, displayWidth(name)),
    ANSIBLE_HOST_COLUMNS,
  );
  const lines = rows.map((row, index) => {
    const name = paint(recapHue(row.counts), padEnd(names[index] ?? "", columns));
    return `${name} : ${recapCounts(row.counts, paint)}`.trimEnd();
  });
  return ["", banner("PLAY RECAP"), ...lines];
}

function recapRows(result: RunResult, recaps: Ending["recaps"]): readonly RecapRow[] {
  const named = new Set(recaps.map(({ host }) => host));
  // A summary run has no recap events, and some may be lost; the result knows the counts of each requested host.
  const others = result.targets.flatMap(({ host, counts }) =>
    counts === null || named.has(host) ? [] : [{ host, counts }],
  );
  return [...recaps, ...others];
}

function recapCounts(counts: Counts, paint: Paint): string {
  return COLUMNS.map(([word, member, hue]) => {
    const number = counts[member];
    const text = `${word}=${String(number).padEnd(ANSIBLE_COUNT_COLUMNS)}`;
    return number > 0 ? paint(hue, text) : text;
  }).join(" ");
}

function recapHue(counts: Counts): Hue {
  if (counts.failures > 0) return "red";
  if (counts.unreachable > 0) return "magenta";
  return counts.changed > 0 ? "yellow" : "green";
}

function targetLines(result: RunResult, paint: Paint): string[] {
  const { targets } = result;
  if (targets.length === 0) return [];
  const listed =
    targets.length > TARGETS_LISTED_MAX
      ? targets.filter((target) => !GOOD.has(target.outcome))
      : targets;
  return ["", banner("TARGETS"), ...listedTargets(listed, paint), targetCounts(result)];
}

function listedTargets(targets: readonly Target[], paint: Paint): string[] {
  const names = targets.map((target) => visible(target.host));
  const columns = names.reduce(
    (most, name) => Math.max(most, displayWidth(name)),
    ANSIBLE_HOST_COLUMNS,
  );
  return targets.map(({ outcome }, index) => {
    const name = padEnd(names[index] ?? "", columns);
    return `${name} : ${paint(OUTCOME_HUES[outcome] ?? "magenta", visible(outcome))}`;
  });
}

function targetCounts({ target_summary: summary }: RunResult): string {
  const parts = TARGET_OUTCOMES.filter((outcome) => summary[outcome] > 0).map(
    (outcome) => `${summary[outcome]} ${outcome}`,
  );
  return `${summary.requested} requested: ${parts.join(", ")}`;
}

function resultLines(result: RunResult, paint: Paint): string[] {
  const { journal, error, manifest_digest: digest } = result;
  const state = paint(STATE_HUES[result.state] ?? "red", visible(result.state));
  const facts = [`effect ${result.effect}`, `evidence ${result.evidence}`, `run ${result.run_id}`];
  const lines = ["", `RESULT ${state}, ${facts.map(visible).join(", ")}`];
  if (error !== null) lines.push(`  ${visible(error.message)} (${visible(error.code)})`);
  if (result.effect === "unknown") {
    lines.push(
      "  What the run did on its targets is not fully known. Look before you run it again.",
    );
  }
  if (journal.lost > 0) {
    lines.push(`  ${journal.lost} events were lost on the way; what is shown above is incomplete.`);
  }
  if (digest !== null) {
    lines.push(`  Bundle ${visible(digest)}: aimctl artifacts list ${visible(result.run_id)}`);
  }
  return lines;
}

function adviceLines(advice: readonly string[]): string[] {
  if (advice.length === 0) return [];
  return ["", "NEXT", ...advice.map((sentence) => `  ${visible(sentence)}`)];
}
