// Verifies an evidence folder from its files alone: no plane, no network, no file system of its own. Browser-safe.
import {
  BUNDLE_FILE_BYTES_MAX,
  EVIDENCE_PLACES,
  preAuthEncoding,
  SEAL_PAYLOAD_TYPE,
  type EvidencePredicate,
  type EvidenceStatement,
  type Manifest,
  type RunResult,
} from "@aim/contract";
import { sha256Hex } from "./digest.ts";
import {
  derOfPem,
  namesSameFiles,
  openSeal,
  pemOfDer,
  readManifest,
  readResult,
  textOf,
  type OpenedSeal,
} from "./evidence-documents.ts";

/** What can be wrong with evidence. A code never changes its meaning. */
export const EVIDENCE_FAULTS = {
  signature_invalid: "The signature was not made with this key over this statement.",
  digest_mismatch: "The bytes are not those that were sealed.",
  file_missing: "The seal or the folder's form names a file that is not there.",
  file_unexpected: "Nothing names this file.",
  seal_missing: "There is no seal.",
  malformed: "It is not what belongs in this place, or contradicts the seal.",
} as const;
export type EvidenceFaultCode = keyof typeof EVIDENCE_FAULTS;

export interface EvidenceFinding {
  readonly code: EvidenceFaultCode;
  readonly path: string;
}

/** The files of an evidence folder, lent by whoever can read them. */
export interface EvidenceFiles {
  /** Every regular file below the folder, by its path with `/`. */
  readonly names: readonly string[];
  /** Everything else that is no folder: links, sockets, devices. It is never opened. */
  readonly refused: readonly string[];
  /** The bytes of a file, or null where there are more than `bytesMax`. */
  readonly read: (path: string, bytesMax: number) => Promise<Uint8Array<ArrayBuffer> | null>;
  readonly measure: (path: string) => Promise<{ readonly sha256: string; readonly size: number }>;
}

export interface EvidenceReport {
  /** Empty when the evidence is whole. */
  readonly findings: readonly EvidenceFinding[];
  /** What the seal says; null where there is none that can be read. Believe it only without findings. */
  readonly sealed: EvidencePredicate | null;
  /** SHA-256 of the public key that was used, or null for none. */
  readonly keyid: string | null;
  /** The key came from the caller. A key from the folder proves only that its files belong together. */
  readonly vouched: boolean;
}

const SEAL_BYTES_MAX = 4 * 1024 * 1024;
const KEY_BYTES_MAX = 4096;

/** Whether a text is an Ed25519 public key in PEM, as `verifyEvidence` takes one. */
export async function isSealKey(pem: string): Promise<boolean> {
  return (await openKey(pem)) !== null;
}

/**
 * Checks signature, statement, manifest, result and every file. `pem` is the public key that the caller trusts;
 * without it the folder's own is used. Never throws for what stands in the files.
 */
export async function verifyEvidence(files: EvidenceFiles, pem?: string): Promise<EvidenceReport> {
  const findings: EvidenceFinding[] = [];
  const look: Look = {
    files,
    there: new Set([...files.names, ...files.refused]),
    report: (code, path) => void findings.push({ code, path }),
  };
  for (const path of files.refused) look.report("malformed", path);
  const seal = await readSeal(look);
  const key = await keyFor(look, seal, pem);
  if (seal !== null) await checkSignature(look, seal, key);
  const statement = seal?.statement ?? null;
  const manifest = await checkManifest(look, statement);
  await checkFiles(look, statement, manifest);
  await checkResult(look, statement, manifest);
  return {
    findings,
    sealed: statement?.predicate ?? null,
    keyid: key?.keyid ?? null,
    vouched: pem !== undefined,
  };
}

interface Look {
  readonly files: EvidenceFiles;
  readonly there: ReadonlySet<string>;
  readonly report: (code: EvidenceFaultCode, path: string) => void;
}

/** The bytes of one of AIM's own files; null, and said, where it is missing or too long. */
async function bytesOf(
  look: Look,
  path: string,
  limits: { readonly max: number; readonly missing?: EvidenceFaultCode },
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (!look.there.has(path)) {
    look.report(limits.missing ?? "file_missing", path);
    return null;
  }
  if (!look.files.names.includes(path)) return null;
  const bytes = await look.files.read(path, limits.max);
  if (bytes === null) look.report("malformed", path);
  return bytes;
}

async function readSeal(look: Look): Promise<OpenedSeal | null> {
  const path = EVIDENCE_PLACES.seal;
  const bytes = await bytesOf(look, path, { max: SEAL_BYTES_MAX, missing: "seal_missing" });
  if (bytes === null) return null;
  const seal = openSeal(bytes);
  if (seal === null || seal.statement === null) look.report("malformed", path);
  return seal;
}

interface Key {
  readonly keyid: string;
  readonly der: Uint8Array<ArrayBuffer>;
  readonly verify: (
    signature: Uint8Array<ArrayBuffer>,
    bytes: Uint8Array<ArrayBuffer>,
  ) => Promise<boolean>;
}

/** Opens an Ed25519 public key in PEM, or answers null. */
export async function openKey(pem: string): Promise<Key | null> {
  const der = derOfPem(pem);
  if (der === null) return null;
  const { subtle } = globalThis.crypto;
  try {
    const key = await subtle.importKey("spki", der, "Ed25519", false, ["verify"]);
    return {
      der,
      keyid: await sha256Hex(der),
      verify: (signature, bytes) => subtle.verify("Ed25519", key, signature, bytes),
    };
  } catch {
    return null;
  }
}

/** The caller's key, else the folder's, which is looked at in any case. */
async function keyFor(
  look: Look,
  seal: OpenedSeal | null,
  pem: string | undefined,
): Promise<Key | null> {
  // Whoever brings a key needs none in the folder.
  const needed = pem === undefined || look.there.has(EVIDENCE_PLACES.key);
  const own = needed ? await checkOwnKey(look, seal) : null;
  return pem === undefined ? own : openKey(pem);
}

/** The folder's key: well formed, spelled as AIM spells it, and the one that the seal names. */
async function checkOwnKey(look: Look, seal: OpenedSeal | null): Promise<Key | null> {
  const path = EVIDENCE_PLACES.key;
  const bytes = await bytesOf(look, path, { max: KEY_BYTES_MAX });
  if (bytes === null) return null;
  const text = textOf(bytes) ?? "";
  const key = await openKey(text);
  if (key === null || pemOfDer(key.der) !== text) look.report("malformed", path);
  else if (seal !== null && key.keyid !== seal.keyid) look.report("digest_mismatch", path);
  return key;
}

async function checkSignature(look: Look, seal: OpenedSeal, key: Key | null): Promise<void> {
  const signed = preAuthEncoding(SEAL_PAYLOAD_TYPE, seal.payload);
  const holds = seal.keyid === key?.keyid && (await key.verify(seal.signature, signed));
  if (!holds) look.report("signature_invalid", EVIDENCE_PLACES.seal);
}

/** The manifest where it can be read; its digest and its agreement with the seal are checked on the way. */
async function checkManifest(
  look: Look,
  statement: EvidenceStatement | null,
): Promise<Manifest | null> {
  const path = EVIDENCE_PLACES.manifest;
  const bytes = await bytesOf(look, path, { max: BUNDLE_FILE_BYTES_MAX });
  if (bytes === null) return null;
  const manifest = readManifest(bytes);
  if (statement !== null && (await sha256Hex(bytes)) !== statement.predicate.manifest_digest) {
    look.report("digest_mismatch", path);
    return null;
  }
  if (manifest === null) look.report("malformed", path);
  else if (statement !== null && contradicts(statement, manifest)) {
    look.report("malformed", EVIDENCE_PLACES.seal);
  }
  return manifest;
}

function contradicts(statement: EvidenceStatement, manifest: Manifest): boolean {
  const { attempt_id, evidence } = statement.predicate;
  const same = manifest.attempt_id === attempt_id && manifest.evidence === evidence;
  return !same || !namesSameFiles(statement, manifest);
}

async function checkFiles(
  look: Look,
  statement: EvidenceStatement | null,
  manifest: Manifest | null,
): Promise<void> {
  const own = new Set<string>(Object.values(EVIDENCE_PLACES));
  const expected = expectedFiles(statement, manifest).filter(({ path }) => !own.has(path));
  const regular = new Set(look.files.names);
  for (const { path, sha256, size } of expected) {
    if (!look.there.has(path)) look.report("file_missing", path);
    if (!regular.has(path)) continue;
    const found = await look.files.measure(path);
    const same = found.sha256 === sha256 && (size === null || found.size === size);
    if (!same) look.report("digest_mismatch", path);
  }
  const named = new Set([...own, ...expected.map(({ path }) => path)]);
  for (const path of look.files.names) if (!named.has(path)) look.report("file_unexpected", path);
}

interface Expected {
  readonly path: string;
  readonly sha256: string;
  readonly size: number | null;
}

/** The manifest knows sizes; where it is damaged, the seal still knows digests. */
function expectedFiles(
  statement: EvidenceStatement | null,
  manifest: Manifest | null,
): readonly Expected[] {
  if (manifest !== null) return manifest.files;
  const subject = statement?.subject ?? [];
  return subject.map(({ name, digest }) => ({ path: name, sha256: digest.sha256, size: null }));
}

async function checkResult(
  look: Look,
  statement: EvidenceStatement | null,
  manifest: Manifest | null,
): Promise<void> {
  const path = EVIDENCE_PLACES.result;
  const bytes = await bytesOf(look, path, { max: BUNDLE_FILE_BYTES_MAX });
  if (bytes === null) return;
  if (statement !== null && (await sha256Hex(bytes)) !== statement.predicate.result_digest) {
    return look.report("digest_mismatch", path);
  }
  const result = readResult(bytes);
  if (result === null) return look.report("malformed", path);
  if (manifest !== null && result.run_id !== manifest.attempt_id) look.report("malformed", path);
  if (statement === null) return;
  if (!agrees(statement.predicate, result)) look.report("malformed", EVIDENCE_PLACES.seal);
}

function agrees(sealed: EvidencePredicate, result: RunResult): boolean {
  return (
    result.run_id === sealed.attempt_id &&
    result.state === sealed.state &&
    result.effect === sealed.effect &&
    result.evidence === sealed.evidence &&
    result.manifest_digest === sealed.manifest_digest
  );
}

/** Evidence that is already in memory. */
export function evidenceInMemory(
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
): EvidenceFiles {
  const bytesAt = (path: string) => files.get(path) ?? new Uint8Array();
  return {
    names: [...files.keys()],
    refused: [],
    read: async (path, bytesMax) => (bytesAt(path).length > bytesMax ? null : bytesAt(path)),
    measure: async (path) => ({
      sha256: await sha256Hex(bytesAt(path)),
      size: bytesAt(path).length,
    }),
  };
}
