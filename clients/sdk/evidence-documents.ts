// Reads the documents of an evidence folder strictly: one spelling each, so that no bit can change unseen. Browser-safe.
import {
  ARTIFACT_PATH_PATTERN,
  canonicalJson,
  EVIDENCE_PLACES,
  EVIDENCE_PREDICATE_TYPE,
  haveOwnPlaces,
  SEAL_PAYLOAD_TYPE,
  STATEMENT_TYPE,
  type EvidenceStatement,
  type Manifest,
  type RunResult,
} from "@aim/contract";

const SHA256 = /^[0-9a-f]{64}$/;
const PATH = new RegExp(ARTIFACT_PATH_PATTERN);
const PATH_LENGTH_MAX = 255;
const FILES_MAX = 1000;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export interface OpenedSeal {
  readonly keyid: string;
  readonly signature: Uint8Array<ArrayBuffer>;
  readonly payload: Uint8Array<ArrayBuffer>;
  /** What the payload says; null where it is no statement of this kind. */
  readonly statement: EvidenceStatement | null;
}

/** Opens `seal.json`; null for anything but the canonical form of an envelope with one signature. */
export function openSeal(bytes: Uint8Array): OpenedSeal | null {
  const envelope = readCanonical(bytes);
  if (!hasFields(envelope, ["payload", "payloadType", "signatures"])) return null;
  const { signatures } = envelope;
  if (envelope["payloadType"] !== SEAL_PAYLOAD_TYPE || !Array.isArray(signatures)) return null;
  const [signed] = signatures as readonly unknown[];
  if (signatures.length !== 1 || !hasFields(signed, ["keyid", "sig"])) return null;
  const payload = fromBase64(envelope["payload"]);
  const signature = fromBase64(signed["sig"]);
  const keyid = signed["keyid"];
  if (payload === null || signature === null || !isDigest(keyid)) return null;
  return { keyid, signature, payload, statement: readStatement(payload) };
}

function readStatement(payload: Uint8Array): EvidenceStatement | null {
  const statement = readCanonical(payload);
  if (!hasFields(statement, ["_type", "predicate", "predicateType", "subject"])) return null;
  const { subject, predicate } = statement;
  const known =
    statement["_type"] === STATEMENT_TYPE &&
    statement["predicateType"] === EVIDENCE_PREDICATE_TYPE &&
    isRecord(predicate) &&
    Object.values(predicate).every((fact) => typeof fact === "string") &&
    isDigest(predicate["manifest_digest"]) &&
    isDigest(predicate["result_digest"]);
  if (!known || !Array.isArray(subject) || subject.length > FILES_MAX + 1) return null;
  return subject.every(isSubject) ? (statement as unknown as EvidenceStatement) : null;
}

function isSubject(subject: unknown): boolean {
  return (
    hasFields(subject, ["digest", "name"]) &&
    isPath(subject["name"]) &&
    hasFields(subject["digest"], ["sha256"]) &&
    isDigest(subject["digest"]["sha256"])
  );
}

/** Reads `manifest.json`; null unless it is canonical and each of its files has a place of its own below the folder. */
export function readManifest(bytes: Uint8Array): Manifest | null {
  const manifest = readCanonical(bytes);
  if (!isRecord(manifest) || typeof manifest["attempt_id"] !== "string") return null;
  const { files } = manifest;
  if (!Array.isArray(files) || files.length > FILES_MAX || !files.every(isFile)) return null;
  const read = manifest as unknown as Manifest;
  return haveOwnPlaces(read.files) ? read : null;
}

function isFile(file: unknown): boolean {
  return (
    isRecord(file) &&
    isPath(file["path"]) &&
    isDigest(file["sha256"]) &&
    Number.isSafeInteger(file["size"]) &&
    Number(file["size"]) >= 0
  );
}

/** Reads `result.json`; null unless it is canonical and names its run. */
export function readResult(bytes: Uint8Array): RunResult | null {
  const result = readCanonical(bytes);
  if (!isRecord(result) || typeof result["run_id"] !== "string") return null;
  return result as unknown as RunResult;
}

/** Whether the files that are signed for are those of the manifest, in its order, and the manifest itself. */
export function namesSameFiles(statement: EvidenceStatement, manifest: Manifest): boolean {
  const signed = statement.subject.map(({ name, digest }) => `${digest.sha256} ${name}`);
  const listed = manifest.files.map(({ path, sha256 }) => `${sha256} ${path}`);
  const last = `${statement.predicate.manifest_digest} ${EVIDENCE_PLACES.manifest}`;
  return canonicalJson(signed) === canonicalJson([...listed, last]);
}

const PEM = /^\s*-----BEGIN PUBLIC KEY-----\s+([A-Za-z0-9+/=\s]+?)\s+-----END PUBLIC KEY-----\s*$/;

/** The SPKI bytes of a public key in PEM, or null. */
export function derOfPem(text: string): Uint8Array<ArrayBuffer> | null {
  const body = PEM.exec(text)?.[1];
  return body === undefined ? null : fromBase64(body.replaceAll(/\s+/g, ""));
}

/** The one way in which AIM writes such a key. */
export function pemOfDer(der: Uint8Array): string {
  const body = toBase64(der).replaceAll(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN PUBLIC KEY-----\n${body}\n-----END PUBLIC KEY-----\n`;
}

/** Text in UTF-8 without a single wrong byte, or null. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** A value from bytes that are exactly its canonical JSON, or undefined. */
function readCanonical(bytes: Uint8Array): unknown {
  const text = textOf(bytes);
  return text === null ? undefined : parseCanonical(text);
}

/** A value from a text that is exactly its canonical JSON, or undefined. */
export function parseCanonical(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return canonicalJson(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The bytes of base64 in its one spelling, or null. */
export function fromBase64(text: unknown): Uint8Array<ArrayBuffer> | null {
  if (typeof text !== "string" || !BASE64.test(text)) return null;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  // The last character may hold bits that decoding ignores.
  return toBase64(bytes) === text ? bytes : null;
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

type Fields = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object with exactly these fields, given in their order. */
export function hasFields(value: unknown, names: readonly string[]): value is Fields {
  return isRecord(value) && Object.keys(value).toSorted().join(" ") === names.join(" ");
}

export function isDigest(value: unknown): value is string {
  return typeof value === "string" && SHA256.test(value);
}

function isPath(value: unknown): boolean {
  return typeof value === "string" && value.length <= PATH_LENGTH_MAX && PATH.test(value);
}
