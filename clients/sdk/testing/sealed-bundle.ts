// A small evidence folder in memory, sealed with a key of its own.
import { createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from "node:crypto";
import { canonicalJson, preAuthEncoding, type EvidenceStatement } from "@aim/contract";

export type Files = Map<string, Uint8Array<ArrayBuffer>>;

export interface Keys {
  readonly privateKey: KeyObject;
  readonly pem: string;
  readonly keyid: string;
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text));
}

/** PKCS#8 of an Ed25519 key up to its 32 secret bytes. */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");

/** The same keys for the same byte, so that a failure can be repeated. */
export function makeKeys(secret: number): Keys {
  const der = Buffer.concat([PKCS8_HEAD, Buffer.alloc(32, secret)]);
  const privateKey = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(privateKey);
  return {
    privateKey,
    pem: publicKey.export({ type: "spki", format: "pem" }).toString(),
    keyid: sha256(publicKey.export({ type: "spki", format: "der" })),
  };
}

export function envelopeOf(statement: unknown, keys: Keys): Record<string, unknown> {
  const payload = Buffer.from(canonicalJson(statement));
  const type = "application/vnd.in-toto+json";
  const sig = sign(null, preAuthEncoding(type, payload), keys.privateKey).toString("base64");
  return {
    payloadType: type,
    payload: payload.toString("base64"),
    signatures: [{ keyid: keys.keyid, sig }],
  };
}

const PARTS = {
  "events.jsonl": '{"a":1}\n'.repeat(40),
  "logs/stderr.log": "",
  "logs/stdout.log": "ok\n",
};

export interface BundleOptions {
  readonly run?: string;
  readonly parts?: Readonly<Record<string, string>>;
  /** Changes the statement before it is signed. */
  readonly change?: (statement: EvidenceStatement) => unknown;
}

export function sealedBundle(keys: Keys, options: BundleOptions = {}): Files {
  const {
    run = `run_${"0".repeat(26)}`,
    parts = PARTS,
    change = (same: unknown) => same,
  } = options;
  const files = Object.entries(parts).map(([path, text]) => ({
    path,
    kind: "log",
    sha256: sha256(text),
    size: text.length,
  }));
  const manifest = canonicalJson({ attempt_id: run, files, evidence: "complete", job_type: "t" });
  const manifest_digest = sha256(manifest);
  const facts = { state: "succeeded", effect: "complete", evidence: "complete", manifest_digest };
  const result = canonicalJson({ run_id: run, ...facts });
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [
      ...files.map(({ path, sha256: digest }) => ({ name: path, digest: { sha256: digest } })),
      { name: "manifest.json", digest: { sha256: manifest_digest } },
    ],
    predicateType: "urn:aim:evidence:v1",
    predicate: {
      attempt_id: run,
      job_type: "t",
      ...facts,
      result_digest: sha256(result),
      sealed_at: "2026-01-02T03:04:05.000006Z",
    },
  } as EvidenceStatement;
  const seal = canonicalJson(envelopeOf(change(statement), keys));
  return new Map([
    ...Object.entries(parts).map(([path, text]) => [path, bytesOf(text)] as const),
    ["manifest.json", bytesOf(manifest)],
    ["result.json", bytesOf(result)],
    ["seal.json", bytesOf(seal)],
    ["seal.pub", bytesOf(keys.pem)],
  ]);
}
