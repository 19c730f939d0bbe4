// What a person reads before a run: how many, how bad, what changed, and the exact command.
import type { Finding, Prepared, Review } from "@aim/contract";
import { visible } from "./escape.ts";
import type { Hue, Paint } from "./style.ts";

const HOSTS_SHOWN = 20;
const NETWORK_SHOWN = 10;
const FINDINGS_SHOWN = 30;
const CHANGES_SHOWN = 20;
const DIGEST_SHORT = 12;

const WEIGHTS: readonly (readonly [weight: Finding["weight"], title: string, hue: Hue])[] = [
  ["deny", "Denied", "red"],
  ["needs_approval", "Needs approval", "yellow"],
  ["note", "Notes", "cyan"],
];

export function reviewLines({ request, revision, review }: Prepared, paint: Paint): string[] {
  const mode = request.check ? "check mode: changes are only predicted" : "for real";
  return [
    paint("bold", `REVIEW ${visible(review.title)}`),
    fact("job type", visible(review.job_type)),
    fact("mode", mode),
    fact(
      "source",
      `${review.source_digest.slice(0, DIGEST_SHORT)}…, ${counted(review.files, "file")}`,
    ),
    fact("revision", visible(revision)),
    fact("hosts", `${review.hosts.length}: ${some(review.hosts, HOSTS_SHOWN)}`),
    ...changeLines(review),
    ...destructiveLines(review, paint),
    fact("credentials", listOr(review.credential_slots, "none")),
    fact("secrets", listOr(review.secret_references, "none")),
    fact("network", networkText(review)),
    ...findingLines(review, paint),
    fact("command", review.command.map(shellWord).join(" ")),
    fact("expires", visible(review.expires_at)),
    "",
  ];
}

function fact(name: string, text: string): string {
  return `  ${name.padEnd(12)} ${text}`;
}

function changeLines({ changes }: Review): string[] {
  if (changes === null) return [fact("since last", "this was never run before")];
  const parts: (readonly [string, readonly string[]])[] = [
    ["files changed", changes.files_changed],
    ["hosts added", changes.hosts_added],
    ["hosts removed", changes.hosts_removed],
    ["variables changed", changes.variables_changed],
  ];
  const lines = parts
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => fact("since last", `${what}: ${some(names, CHANGES_SHOWN)}`));
  if (changes.mode_changed) lines.push(fact("since last", "the mode changed"));
  return lines.length === 0 ? [fact("since last", "nothing changed")] : lines;
}

function destructiveLines(review: Review, paint: Paint): string[] {
  if (!review.destructive) return [fact("destructive", "no")];
  const reasons = review.destructive_because.map((reason) => fact("", `- ${visible(reason)}`));
  return [fact("destructive", paint("red", "yes")), ...reasons];
}

function networkText({ network }: Review): string {
  if (network.length === 0) return "none";
  const rules = network.map((rule) => `${rule.host}:${rule.port}/${rule.protocol}`);
  return `${rules.length}: ${some(rules, NETWORK_SHOWN)}`;
}

function findingLines(review: Review, paint: Paint): string[] {
  const lines = WEIGHTS.flatMap(([weight, title, hue]) => {
    const findings = review.findings.filter((finding) => finding.weight === weight);
    if (findings.length === 0) return [];
    const shown = findings.slice(0, FINDINGS_SHOWN).map(findingLine);
    const rest = findings.length - shown.length;
    if (rest > 0) shown.push(`    … and ${rest} more; aimctl request with prepare lists them all`);
    return [`  ${paint(hue, `${title} (${findings.length})`)}`, ...shown];
  });
  if (review.findings_omitted > 0) {
    lines.push(`    … and ${review.findings_omitted} more that the plane left out`);
  }
  return lines;
}

function findingLine({ code, message, at }: Finding): string {
  const place = at === null ? "" : `${visible(at)}  `;
  return `    ${place}${visible(message)} (${visible(code)})`;
}

function some(names: readonly string[], most: number): string {
  const shown = names.slice(0, most).map(visible).join(", ");
  return names.length > most ? `${shown}, … and ${names.length - most} more` : shown;
}

function listOr(names: readonly string[], none: string): string {
  return names.length === 0 ? none : names.map(visible).join(", ");
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** A word as one would paste it into a shell. */
function shellWord(word: string): string {
  const safe = visible(word);
  return /^[\p{L}\p{N}_@%+=:,.\/\-]+$/v.test(safe) ? safe : `'${safe.replaceAll("'", "'\\''")}'`;
}
