// Verifies an exported audit without a plane: every row's hash, the chain between them, and the sealed head. Browser-safe.
import {
  AUDIT_GENESIS,
  AUDIT_HEAD_PAYLOAD_TYPE,
  auditFactsOf,
  auditText,
  canonicalJson,
  preAuthEncoding,
  type AuditHead,
  type AuditRow,
  type SealedAuditHead,
} from "@aim/contract";
import { sha256Hex } from "./digest.ts";
import { fromBase64, hasFields, isDigest, parseCanonical } from "./evidence-documents.ts";
import { openKey } from "./evidence.ts";

/** What can be wrong with an audit. A code never changes its meaning. */
export const AUDIT_FAULTS = {
  malformed: "It is no row of an audit, or not in the one form that a row is written in.",
  position_wrong:
    "The row does not follow the one before it: something was left out, added or moved.",
  chain_broken: "The row does not continue the chain of the one before it.",
  hash_mismatch: "The row is not what was written.",
  head_missing: "The audit ends before the row that the head names.",
  head_mismatch: "The row that the head names is another one.",
  head_malformed: "It is no sealed head of an audit.",
  signature_invalid: "The head was not sealed with this key.",
} as const;
export type AuditFaultCode = keyof typeof AUDIT_FAULTS;

export interface AuditFinding {
  readonly code: AuditFaultCode;
  /** Where it shows; null for the head itself. */
  readonly position: number | null;
}

export interface AuditReport {
  /** What shows first; null when the audit is whole as far as it was looked at. */
  readonly finding: AuditFinding | null;
  readonly rows: number;
  /** The last row that was read. */
  readonly end: AuditPlace;
  /** What the sealed head says; null for none. */
  readonly head: AuditHead | null;
  /** The head's signature was checked with a key of the caller's. */
  readonly vouched: boolean;
}

export interface AuditPlace {
  readonly position: number;
  readonly hash: string;
}

export interface AuditProof {
  /** The place after which the rows begin; the start of the chain where there is none. */
  readonly after?: AuditPlace;
  /** The text of a sealed head that was taken earlier, best kept elsewhere: it shows what was cut off. */
  readonly head?: string;
  /** The public key that the caller trusts, as PEM. */
  readonly pem?: string;
}

export const AUDIT_START: AuditPlace = { position: 0, hash: AUDIT_GENESIS };

/**
 * One text for each row, in canonical JSON, as `auditLine` writes it. Stops at the first thing that is wrong.
 * Throws what the source of the lines throws.
 */
export async function verifyAudit(
  lines: AsyncIterable<string> | Iterable<string>,
  proof: AuditProof = {},
): Promise<AuditReport> {
  const { head, fault } = await openHead(proof);
  const start = proof.after ?? AUDIT_START;
  const walked =
    fault === null
      ? await walk(lines, start, head)
      : { finding: { code: fault, position: null }, rows: 0, end: start };
  return { ...walked, head, vouched: head !== null && fault === null && proof.pem !== undefined };
}

type Walked = Pick<AuditReport, "finding" | "rows" | "end">;

async function walk(
  lines: AsyncIterable<string> | Iterable<string>,
  start: AuditPlace,
  head: AuditHead | null,
): Promise<Walked> {
  let end = start;
  let rows = 0;
  let met = head === null || same(head, end);
  for await (const line of lines) {
    const row = readRow(line);
    const code = row === null ? "malformed" : await faultOf(row, end);
    if (row === null || code !== null) {
      return { finding: { code: code ?? "malformed", position: end.position + 1 }, rows, end };
    }
    end = { position: row.position, hash: row.hash };
    rows += 1;
    if (head?.position !== row.position) continue;
    met = same(head, end);
    if (!met) return { finding: { code: "head_mismatch", position: row.position }, rows, end };
  }
  const finding: AuditFinding = { code: "head_missing", position: end.position + 1 };
  return { finding: met ? null : finding, rows, end };
}

const same = (head: AuditPlace, place: AuditPlace): boolean =>
  head.position === place.position && head.hash === place.hash;

async function faultOf(row: AuditRow, end: AuditPlace): Promise<AuditFaultCode | null> {
  if (row.position !== end.position + 1) return "position_wrong";
  if (row.previous !== end.hash) return "chain_broken";
  const text = new TextEncoder().encode(auditText(row.previous, auditFactsOf(row)));
  return (await sha256Hex(text)) === row.hash ? null : "hash_mismatch";
}

/** The one form in which a row is exported. */
export function auditLine(row: AuditRow): string {
  return canonicalJson(row);
}

const ROW_FIELDS = [
  "action",
  "at",
  "customer",
  "detail",
  "hash",
  "outcome",
  "position",
  "previous",
  "principal",
  "what",
];

/** Null for anything but the canonical form: no bit can change unseen. */
function readRow(line: string): AuditRow | null {
  const row = parseCanonical(line);
  if (!hasFields(row, ROW_FIELDS)) return null;
  const whole = Number.isSafeInteger(row["position"]) && isDigest(row["hash"]);
  return whole && isDigest(row["previous"]) ? (row as unknown as AuditRow) : null;
}

interface OpenedHead {
  readonly head: AuditHead | null;
  readonly fault: AuditFaultCode | null;
}

async function openHead({ head: text, pem }: AuditProof): Promise<OpenedHead> {
  if (text === undefined) return { head: null, fault: null };
  const sealed = parseCanonical(text.trim());
  const payload = isSealed(sealed) ? fromBase64(sealed.payload) : null;
  const head = payload === null ? null : parseCanonical(new TextDecoder().decode(payload));
  if (!isSealed(sealed) || payload === null || !isHead(head)) {
    return { head: null, fault: "head_malformed" };
  }
  const good = pem === undefined || (await isSignedWith(pem, sealed, payload));
  return { head, fault: good ? null : "signature_invalid" };
}

async function isSignedWith(
  pem: string,
  { signatures }: SealedAuditHead,
  payload: Uint8Array,
): Promise<boolean> {
  const key = await openKey(pem);
  const signature = fromBase64(signatures[0]?.sig);
  if (key === null || signature === null) return false;
  return key.verify(signature, preAuthEncoding(AUDIT_HEAD_PAYLOAD_TYPE, payload));
}

function isSealed(value: unknown): value is SealedAuditHead {
  if (!hasFields(value, ["payload", "payloadType", "signatures"])) return false;
  const { payloadType, signatures } = value;
  return payloadType === AUDIT_HEAD_PAYLOAD_TYPE && Array.isArray(signatures);
}

function isHead(value: unknown): value is AuditHead {
  if (!hasFields(value, ["at", "hash", "position"])) return false;
  return Number.isSafeInteger(value["position"]) && isDigest(value["hash"]);
}
