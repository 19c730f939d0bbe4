// Decides which names may be published. Anything in doubt becomes a fixed placeholder or null.
import { HOST_CODE_POINTS_MAX, LABEL_BYTES_MAX, LABEL_CODE_POINTS_MAX } from "@aim/contract";
import type { FrameName } from "./frames.ts";

export type LabelKind = "play" | "task" | "handler";

export interface Label {
  readonly label: string;
  readonly label_redacted: boolean;
}

const WITHHELD: Label = { label: "Withheld name", label_redacted: true };
const DYNAMIC: Label = { label: "Dynamic name", label_redacted: true };
const UNNAMED: Readonly<Record<LabelKind, Label>> = {
  play: { label: "Unnamed play", label_redacted: false },
  task: { label: "Unnamed task", label_redacted: false },
  handler: { label: "Unnamed handler", label_redacted: false },
};

const TEMPLATE = /\{\{|\{%|\{#|#jinja2:/i;
// Zero-width joiner and non-joiner are needed to write several scripts; every other format character can hide text.
const UNSAFE_CHARACTER = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]|(?![\u200c\u200d])\p{Cf}/u;
const URL_OR_AUTHORITY = /[a-z][a-z0-9+.-]*:\/\/|\S@\S/i;
const ASSIGNMENT =
  /(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key|credentials?|authorization|auth)\w*["']?\s*[:=]\s*\S/i;
// Shapes that are credentials wherever they stand.
const TOKEN =
  /\bbearer\s+\S{8,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeprs]-[\w-]{8,}|\bhv[sb]\.[\w-]{16,}|\beyJ[\w-]{8,}\.[\w-]{8,}|-----BEGIN/i;

/** Credentials of four characters or more are looked for anywhere; shorter ones only as a whole word. */
export function createCredentialSearch(credentials: Iterable<string>): (text: string) => boolean {
  const anywhere: string[] = [];
  const words: RegExp[] = [];
  for (const credential of credentials) {
    for (const value of new Set([credential, credential.trim()])) {
      if (value === "") continue;
      if (codePoints(value) >= 4) anywhere.push(value);
      else
        words.push(
          new RegExp(`(?<![\\p{L}\\p{N}_])${RegExp.escape(value)}(?![\\p{L}\\p{N}_])`, "u"),
        );
    }
  }
  return (text) =>
    anywhere.some((value) => text.includes(value)) || words.some((word) => word.test(text));
}

/** The public label of a play, task or handler, by the rules of the contract, in their order. */
export function labelOf(
  name: FrameName,
  kind: LabelKind,
  holdsCredential: (text: string) => boolean,
): Label {
  if (name.is !== "text") return placeholder(name.is, kind);
  const text = name.text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
  if (text === "") return UNNAMED[kind];
  if (TEMPLATE.test(text)) return DYNAMIC;
  if (codePoints(text) > LABEL_CODE_POINTS_MAX) return WITHHELD;
  if (Buffer.byteLength(text) > LABEL_BYTES_MAX) return WITHHELD;
  if (UNSAFE_CHARACTER.test(text)) return WITHHELD;
  if (URL_OR_AUTHORITY.test(text) || ASSIGNMENT.test(text) || TOKEN.test(text)) return WITHHELD;
  if (holdsCredential(text)) return WITHHELD;
  return { label: text, label_redacted: false };
}

function placeholder(is: Exclude<FrameName["is"], "text">, kind: LabelKind): Label {
  if (is === "missing") return UNNAMED[kind];
  return is === "dynamic" ? DYNAMIC : WITHHELD;
}

export const WITHHELD_LABEL = WITHHELD;

export interface PublicHost {
  readonly host: string | null;
  readonly host_redacted: boolean;
}

const HOST_WITHHELD: PublicHost = { host: null, host_redacted: true };

/** Publishes a host name only if it was reviewed, is short and plain, and holds no credential. */
export function createHostRule(
  reviewed: Iterable<string>,
  holdsCredential: (text: string) => boolean,
): (host: string) => PublicHost {
  const publishable = new Map<string, PublicHost>();
  for (const host of reviewed) {
    if (codePoints(host) > HOST_CODE_POINTS_MAX) continue;
    if (UNSAFE_CHARACTER.test(host) || holdsCredential(host)) continue;
    publishable.set(host, { host, host_redacted: false });
  }
  return (host) => publishable.get(host) ?? HOST_WITHHELD;
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
