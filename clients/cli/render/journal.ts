// One line for each record, hole and end of a journal. Pure.
import type { JournalGap, JournalRecord, JournalSnapshot } from "@aim/contract";
import { visible } from "./escape.ts";

const ENVELOPE = new Set(["event_version", "run_id", "sequence", "timestamp", "kind"]);

export function recordLine({ cursor, event }: JournalRecord): string {
  const facts = Object.entries(event)
    .filter(([name]) => !ENVELOPE.has(name))
    .flatMap(([name, value]) => factWords(name, value));
  return [String(cursor), event.timestamp, event.kind, ...facts].join("  ");
}

/** What is false, empty or told by another word is left out. */
function factWords(name: string, value: unknown): string[] {
  if (value === true) return [name];
  if (typeof value === "string" || typeof value === "number") {
    return [`${name}=${visible(String(value))}`];
  }
  if (typeof value !== "object" || value === null) return [];
  // A hint is its code, counts are those that count something.
  if ("code" in value) return [`${name}=${visible(String(value.code))}`];
  const counts = Object.entries(value).filter(([, count]) => count !== 0);
  return counts.map(([key, count]) => `${key}=${String(count)}`);
}

const REASONS = {
  queue_full: "the runner's queue was full",
  not_delivered: "they had not arrived when the capture ended",
  retention: "retention removed them",
} as const satisfies Record<JournalGap["reason"], string>;

export function gapLine({ events, from, reason, to }: JournalGap): string {
  return `${from}–${to}  ${events} events are missing: ${REASONS[reason]}`;
}

const CAPTURES = {
  waiting: "waiting for capture",
  live: "captured now",
  closed: "captured to its end",
  interrupted: "interrupted: the attempt ended before its capture was closed",
  unavailable: "history unavailable: the attempt is older than the journal",
} as const satisfies Record<JournalSnapshot["capture"], string>;

export function coverageLines({ coverage }: JournalSnapshot): string[] {
  return coverage.flatMap(({ capture, lost, number, omitted, retained, run_id, stored }) => [
    `attempt ${number}  ${visible(run_id)}  ${CAPTURES[capture]}`,
    `  ${stored} events stored, ${retained.events} retained, ${omitted?.events ?? 0} omitted, ${lost} lost`,
  ]);
}
