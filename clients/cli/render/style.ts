// Ansible's colours, in the terminal's own sixteen.
import type { HostStatus, TargetOutcome } from "@aim/contract";

const CODES = {
  green: "0;32",
  yellow: "0;33",
  red: "0;31",
  magenta: "1;35",
  cyan: "0;36",
  dim: "2",
  bold: "1",
} as const;
export type Hue = keyof typeof CODES;

/** Paints text, or gives it back unchanged where no colour is wanted. */
export type Paint = (hue: Hue, text: string) => string;

export function painter(color: boolean): Paint {
  if (!color) return (_hue, text) => text;
  return (hue, text) => (text === "" ? text : `\u{1b}[${CODES[hue]}m${text}\u{1b}[0m`);
}

export const STATUS_HUES = {
  ok: "green",
  changed: "yellow",
  failed: "red",
  unreachable: "magenta",
  skipped: "cyan",
} as const satisfies Record<HostStatus, Hue>;

export const OUTCOME_HUES = {
  succeeded: "green",
  changed: "yellow",
  failed: "red",
  unreachable: "magenta",
  skipped: "cyan",
  not_reached: "cyan",
  unknown: "magenta",
} as const satisfies Record<TargetOutcome, Hue>;

export const WITHHELD_HOST = "host withheld";
