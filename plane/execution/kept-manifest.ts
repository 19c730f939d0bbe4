// What the plane itself knows of a reported manifest: whose it is, and how much of it is really kept.
import { AimError, haveOwnPlaces, type Evidence, type Manifest } from "@aim/contract";

/** Refuses a manifest of another attempt, and one whose files would stand in each other's places. */
export function checkManifest(attemptId: string, manifest: Manifest): void {
  if (manifest.attempt_id !== attemptId) {
    throw new AimError("invalid_request", "/manifest/attempt_id");
  }
  if (!haveOwnPlaces(manifest.files)) throw new AimError("invalid_request", "/manifest/files");
}

const RANK = { none: 0, partial: 1, complete: 2 } as const satisfies Record<Evidence, number>;

/** The manifest with its evidence lowered to what is kept. A runner's word never raises it. */
export async function keptManifest(
  manifest: Manifest,
  sizeOf: (sha256: string) => Promise<number | null>,
): Promise<Manifest> {
  const kept = await Promise.all(
    manifest.files.map(async ({ sha256, size }) => (await sizeOf(sha256)) === size),
  );
  const found = evidenceOf(kept);
  return RANK[found] < RANK[manifest.evidence] ? { ...manifest, evidence: found } : manifest;
}

function evidenceOf(kept: readonly boolean[]): Evidence {
  if (!kept.includes(true)) return "none";
  return kept.includes(false) ? "partial" : "complete";
}
