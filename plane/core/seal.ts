// Seals the evidence of ended attempts. The missing row is the durable to-do: whoever starts next makes what is missing.
import {
  canonicalJson,
  EVIDENCE_PLACES,
  EVIDENCE_PREDICATE_TYPE,
  SEAL_PAYLOAD_TYPE,
  STATEMENT_TYPE,
  type EvidenceStatement,
  type Manifest,
  type RunResult,
  type SealEnvelope,
  type SealKey,
} from "@aim/contract";
import { formatTimestamp, type Clock } from "../base/clock.ts";
import { point } from "../base/point.ts";
import type { Store } from "../store/store.ts";
import type { AttemptAndJob } from "../store/uses/read-attempts.ts";
import { signed, type SigningKey } from "./seal-key.ts";

const PAGE = 100;
const RETRY_MS = 5_000;

export interface SealerParts {
  readonly store: Pick<
    Store,
    "readAttempt" | "readManifest" | "readSeal" | "saveSeal" | "unsealed"
  >;
  readonly clock: Clock;
  /** Hex SHA-256 of a text in UTF-8. */
  readonly digest: (text: string) => string;
  readonly key: SigningKey;
  /** Hears of a seal that could not be made now; it is tried again. */
  readonly onDelay: (error: unknown) => void;
}

export interface Sealer {
  readonly key: SealKey;
  /** The seal of an attempt, made now where it is missing; null for one that left no manifest. */
  readonly seal: (attemptId: string) => Promise<SealEnvelope | null>;
  /** Seals an attempt that has just ended, in its turn. Nobody waits for it. */
  readonly ended: (attemptId: string) => void;
  /** Seals every ended attempt that has no seal, in its turn. */
  readonly recover: () => void;
  /** Finishes what is under way; the rest is made at the next start. */
  readonly stop: () => Promise<void>;
}

export function createSealer(parts: SealerParts): Sealer {
  const { store } = parts;
  let turn: Promise<void> = Promise.resolve();
  let retry: NodeJS.Timeout | undefined;
  const ending = new AbortController();

  function queue(work: () => Promise<unknown>): void {
    turn = turn.then(async () => {
      try {
        if (!ending.signal.aborted) await work();
      } catch (error) {
        parts.onDelay(error);
        retry ??= setTimeout(() => {
          retry = undefined;
          queue(sealMissing);
        }, RETRY_MS).unref();
      }
    });
  }

  async function sealMissing(): Promise<void> {
    let after = "";
    while (!ending.signal.aborted) {
      const page = await store.unsealed({ after, limit: PAGE });
      for (const attemptId of page) await seal(attemptId);
      if (page.length < PAGE) return;
      after = page.at(-1) ?? after;
    }
  }

  async function seal(attemptId: string): Promise<SealEnvelope | null> {
    const text = (await store.readSeal({ attemptId })) ?? (await make(attemptId));
    return text === null ? null : (JSON.parse(text) as SealEnvelope);
  }

  async function make(attemptId: string): Promise<string | null> {
    const [found, manifest] = await Promise.all([
      store.readAttempt({ attemptId }),
      store.readManifest({ attemptId }),
    ]);
    if (found === null || found.attempt.result === null || manifest === null) return null;
    const { attempt } = found;
    if (attempt.manifestDigest === null) return null;
    const now = parts.clock.now();
    const facts = { found, result: found.attempt.result, manifestDigest: attempt.manifestDigest };
    const statement = statementOf(
      { ...facts, manifest: JSON.parse(manifest) as Manifest, sealed: now },
      parts.digest,
    );
    point("seal.before_save");
    return store.saveSeal({
      attemptId,
      customer: attempt.customer,
      manifestDigest: attempt.manifestDigest,
      envelope: canonicalJson(envelopeOf(statement, parts.key)),
      now,
    });
  }

  return {
    key: parts.key.public,
    seal,
    ended: (attemptId) => queue(() => seal(attemptId)),
    recover: () => queue(sealMissing),
    stop: async () => {
      ending.abort();
      clearTimeout(retry);
      await turn;
    },
  };
}

interface Sealed {
  readonly found: AttemptAndJob;
  readonly manifest: Manifest;
  readonly manifestDigest: string;
  readonly result: RunResult;
  readonly sealed: number;
}

function statementOf(what: Sealed, digest: (text: string) => string): EvidenceStatement {
  const { found, manifest, manifestDigest, result } = what;
  const { attempt, job } = found;
  return {
    _type: STATEMENT_TYPE,
    subject: [
      ...manifest.files.map(({ path, sha256 }) => ({ name: path, digest: { sha256 } })),
      { name: EVIDENCE_PLACES.manifest, digest: { sha256: manifestDigest } },
    ],
    predicateType: EVIDENCE_PREDICATE_TYPE,
    predicate: {
      attempt_id: attempt.id,
      job_id: job.id,
      job_type: job.spec.job_type,
      state: attempt.state,
      effect: attempt.effect,
      evidence: attempt.evidence,
      manifest_digest: manifestDigest,
      result_digest: digest(canonicalJson(result)),
      sealed_at: formatTimestamp(what.sealed),
    },
  };
}

function envelopeOf(statement: EvidenceStatement, key: SigningKey): SealEnvelope {
  return { payloadType: SEAL_PAYLOAD_TYPE, ...signed(SEAL_PAYLOAD_TYPE, statement, key) };
}
