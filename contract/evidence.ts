// The seal over an attempt's evidence: a DSSE envelope around an in-toto statement, and the folder it travels in.
import { Type, type Static } from "typebox";
import { AttemptIdSchema, JobIdSchema, Sha256Schema, TimestampSchema } from "./ids.ts";
import { ARTIFACT_PATH_PATTERN, type ArtifactFile } from "./runner-protocol.ts";
import { AttemptStateSchema, EffectSchema, EvidenceSchema } from "./states.ts";

export const SEAL_PAYLOAD_TYPE = "application/vnd.in-toto+json";
export const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
/** Names the predicate; it is a name, not a place. */
export const EVIDENCE_PREDICATE_TYPE = "urn:aim:evidence:v1";

/** AIM's own files in an evidence folder; every other file is one that the manifest lists. */
export const EVIDENCE_PLACES = {
  manifest: "manifest.json",
  result: "result.json",
  seal: "seal.json",
  key: "seal.pub",
} as const;

const closed = { additionalProperties: false } as const;

export const SubjectSchema = Type.Object(
  {
    name: Type.String({ pattern: ARTIFACT_PATH_PATTERN, maxLength: 255 }),
    digest: Type.Object({ sha256: Sha256Schema }, closed),
  },
  closed,
);
export type Subject = Static<typeof SubjectSchema>;

export const EvidencePredicateSchema = Type.Object(
  {
    attempt_id: AttemptIdSchema,
    job_id: Type.Optional(JobIdSchema),
    job_type: Type.String(),
    state: AttemptStateSchema,
    effect: EffectSchema,
    evidence: EvidenceSchema,
    /** SHA-256 of the manifest in canonical JSON. */
    manifest_digest: Sha256Schema,
    /** SHA-256 of the RunResult in canonical JSON. */
    result_digest: Sha256Schema,
    sealed_at: TimestampSchema,
  },
  closed,
);
export type EvidencePredicate = Static<typeof EvidencePredicateSchema>;

/** What is signed: in canonical JSON, as the envelope's payload. */
export const EvidenceStatementSchema = Type.Object(
  {
    _type: Type.Literal(STATEMENT_TYPE),
    /** Every file that the manifest lists, and `manifest.json`. */
    subject: Type.Array(SubjectSchema, { minItems: 1, maxItems: 1001 }),
    predicateType: Type.Literal(EVIDENCE_PREDICATE_TYPE),
    predicate: EvidencePredicateSchema,
  },
  closed,
);
export type EvidenceStatement = Static<typeof EvidenceStatementSchema>;

export const SealEnvelopeSchema = Type.Object(
  {
    payloadType: Type.Literal(SEAL_PAYLOAD_TYPE),
    /** Base64 of the statement. */
    payload: Type.String({ pattern: "^[A-Za-z0-9+/]+={0,2}$" }),
    signatures: Type.Array(
      Type.Object(
        {
          /** SHA-256 of the public key as SPKI in DER. */
          keyid: Sha256Schema,
          /** Base64 of an Ed25519 signature. */
          sig: Type.String({ pattern: "^[A-Za-z0-9+/]{86}==$" }),
        },
        closed,
      ),
      { minItems: 1, maxItems: 1 },
    ),
  },
  closed,
);
export type SealEnvelope = Static<typeof SealEnvelopeSchema>;

export const SealKeySchema = Type.Object(
  { keyid: Sha256Schema, public_key_pem: Type.String() },
  closed,
);
export type SealKey = Static<typeof SealKeySchema>;

/** The bytes that a DSSE signature is made over. Throws a TypeError for a type that is not ASCII. */
export function preAuthEncoding(type: string, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = `DSSEv1 ${type.length} ${type} ${payload.length} `;
  const bytes = new Uint8Array(head.length + payload.length);
  for (let at = 0; at < head.length; at += 1) {
    const code = head.charCodeAt(at);
    if (code > 0x7f) throw new TypeError("a payload type is ASCII");
    bytes[at] = code;
  }
  bytes.set(payload, head.length);
  return bytes;
}

/** Whether each file has a place of its own in an evidence folder: listed once, not below another, not one of AIM's. */
export function haveOwnPlaces(files: readonly Pick<ArtifactFile, "path">[]): boolean {
  const taken = new Set<string>(Object.values(EVIDENCE_PLACES));
  const folders = new Set<string>();
  for (const { path } of files) {
    if (taken.has(path)) return false;
    taken.add(path);
    for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
      folders.add(path.slice(0, end));
    }
  }
  return [...folders].every((folder) => !taken.has(folder));
}
