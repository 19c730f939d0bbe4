// `aimctl evidence`: takes the sealed evidence of a run away as a folder, and verifies such a folder without a plane.
import { readFile } from "node:fs/promises";
import {
  canonicalJson,
  EVIDENCE_PLACES,
  type ArtifactFile,
  type Manifest,
  type RunResult,
} from "@aim/contract";
import {
  EVIDENCE_FAULTS,
  isAimError,
  isClientError,
  isSealKey,
  readManifest,
  verifyEvidence,
  type Client,
  type EvidenceReport,
} from "@aim/sdk";
import { emptyAgain, makeEmpty, openFolder, writeNew } from "../evidence/folder.ts";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import type { OutputFlags } from "../settings.ts";

const LEFT_OUT: ReadonlySet<string> = new Set(["digest_mismatch", "stream_cut"]);

export interface VerifyFlags extends OutputFlags {
  readonly key?: string;
}

export async function exportEvidence(
  runId: string,
  dir: string,
  flags: OutputFlags,
): Promise<ExitCode> {
  const client = connect(flags);
  const bundle = await ask(client, runId);
  if (!(await makeEmpty(dir))) {
    throw new CliFault(EXIT.usage, `${visible(dir)} is not an empty folder and cannot become one.`);
  }
  try {
    await write(client, bundle, dir);
  } catch (error) {
    await emptyAgain(dir);
    throw error;
  }
  // What stands there now is looked at as anybody would who gets it.
  return show(await verifyEvidence(await openFolder(dir)), flags);
}

interface Bundle {
  readonly result: RunResult;
  readonly manifest: Manifest;
  readonly seal: { readonly text: string; readonly keyid: string | undefined };
  readonly key: { readonly keyid: string; readonly pem: string };
}

async function ask(client: Client, runId: string): Promise<Bundle> {
  const { result } = await client.status(runId);
  if (result === null) throw new CliFault(EXIT.other, "The run has not ended. Nothing is sealed.");
  if (result.manifest_digest === null) {
    throw new CliFault(EXIT.other, "The run left no evidence: nobody reported its end.");
  }
  const [manifest, envelope, key] = await Promise.all([
    client.artifacts(runId),
    client.seal(runId),
    client.sealKey(),
  ]);
  return {
    result,
    manifest,
    seal: { text: canonicalJson(envelope), keyid: envelope.signatures[0]?.keyid },
    key: { keyid: key.keyid, pem: key.public_key_pem },
  };
}

async function write(client: Client, bundle: Bundle, dir: string): Promise<void> {
  const { manifest, result, seal, key } = bundle;
  const put = (path: string, content: string | Uint8Array) =>
    writeNew(dir, path, typeof content === "string" ? Buffer.from(content) : content);
  await put(EVIDENCE_PLACES.manifest, manifestBytes(manifest));
  for (const file of manifest.files) {
    const bytes = await artifactOf(client, manifest.attempt_id, file);
    if (bytes !== null) await put(file.path, bytes);
  }
  await put(EVIDENCE_PLACES.result, canonicalJson(result));
  await put(EVIDENCE_PLACES.seal, seal.text);
  if (key.keyid === seal.keyid) await put(EVIDENCE_PLACES.key, key.pem);
  else {
    process.stderr.write(
      `aimctl: The run was sealed with a former key, ${visible(String(seal.keyid))}; the plane now has another. Verify with --key.\n`,
    );
  }
}

/** Parts that were never stored, or not as they are named, are left out: the verification names them. */
async function artifactOf(
  client: Client,
  runId: string,
  file: ArtifactFile,
): Promise<Uint8Array | null> {
  try {
    return await client.artifact(runId, file);
  } catch (error) {
    const absent = isAimError(error) && error.code === "not_found";
    const other = isClientError(error) && LEFT_OUT.has(error.code);
    if (absent || other) return null;
    throw error;
  }
}

/** The bytes that were sealed. A plane that is not ours must not make us write outside the folder. */
function manifestBytes(manifest: Manifest): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Buffer.from(canonicalJson(manifest)));
  if (readManifest(bytes) !== null) return bytes;
  throw new CliFault(EXIT.other, "The manifest names files that cannot stand in one folder.");
}

export async function verify(dir: string, flags: VerifyFlags): Promise<ExitCode> {
  const pem = flags.key === undefined ? undefined : await readKey(flags.key);
  const files = await openFolder(dir).catch(() => {
    throw new CliFault(EXIT.usage, `${visible(dir)} is no folder that can be read.`);
  });
  return show(await verifyEvidence(files, pem), flags);
}

async function readKey(path: string): Promise<string> {
  const pem = await readFile(path, "utf8").catch(() => "");
  if (await isSealKey(pem)) return pem;
  throw new CliFault(EXIT.usage, `${visible(path)} is no Ed25519 public key in PEM.`);
}

function show(report: EvidenceReport, flags: OutputFlags): ExitCode {
  const whole = report.findings.length === 0;
  print(flags, { whole, ...report }, linesOf);
  return whole ? EXIT.ok : EXIT.other;
}

function linesOf(report: EvidenceReport): string[] {
  const { findings, sealed, keyid, vouched } = report;
  if (findings.length > 0 || sealed === null) {
    return [
      ...findings.map(({ code, path }) => `${code}  ${visible(path)}  ${EVIDENCE_FAULTS[code]}`),
      `NOT WHOLE: ${findings.length} found.`,
    ];
  }
  const { attempt_id, job_type, state, effect, evidence, sealed_at } = sealed;
  const facts = [attempt_id, job_type, state, `effect ${effect}`, `evidence ${evidence}`];
  return [
    `WHOLE: ${facts.map((fact) => visible(fact)).join(", ")}, sealed ${visible(sealed_at)}`,
    vouched
      ? `key ${String(keyid)}: the one you gave.`
      : `key ${String(keyid)}: the folder's own. The key itself is not vouched for: give --key with one that you trust.`,
  ];
}
