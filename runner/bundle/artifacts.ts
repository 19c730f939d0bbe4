// Collects what an attempt leaves, names it by digest and lists it in the manifest.
import { createHash } from "node:crypto";
import type { ArtifactFile, Manifest } from "@aim/contract";

export interface Artifact {
  readonly file: ArtifactFile;
  readonly bytes: Uint8Array;
}

export interface ArtifactShelf {
  readonly keep: (path: string, kind: ArtifactFile["kind"], bytes: string | Uint8Array) => void;
  readonly all: () => readonly Artifact[];
}

export function createShelf(): ArtifactShelf {
  const shelf = new Map<string, Artifact>();
  return {
    keep: (path, kind, content) => {
      const bytes = typeof content === "string" ? Buffer.from(content) : content;
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      shelf.set(path, { bytes, file: { path, kind, sha256, size: bytes.length } });
    },
    all: () => [...shelf.values()].toSorted((a, b) => (a.file.path < b.file.path ? -1 : 1)),
  };
}

export interface ManifestFacts {
  readonly attemptId: string;
  readonly jobType: string;
  readonly files: readonly ArtifactFile[];
  readonly evidence: Manifest["evidence"];
  readonly sandbox: Manifest["sandbox"];
}

export function manifestOf(facts: ManifestFacts): Manifest {
  return {
    manifest_version: "1.0",
    attempt_id: facts.attemptId,
    job_type: facts.jobType,
    files: [...facts.files],
    // Nothing the tool printed is kept, so there is nothing to mask.
    redaction: { applied: false, rules_version: 1, masked: 0, weak: false },
    sandbox: facts.sandbox,
    evidence: facts.evidence,
  };
}
