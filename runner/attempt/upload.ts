// Brings what an attempt leaves to the plane in chunks, as long as the lease lives; resumes where the plane's bytes end.
import { AimError, UPLOAD_CHUNK_BYTES_MAX, type Evidence } from "@aim/contract";
import type { Artifact } from "../bundle/artifacts.ts";
import type { PlaneClient } from "../plane-client.ts";
import { patiently } from "./patience.ts";
import type { Attempt } from "./under-way.ts";

/** A plane that sends an upload back more often than this will not keep it. */
const RESUMES_MAX = 16;

type Sender = Pick<PlaneClient, "upload">;

/** Answers how much of the shelf the plane has taken: all, a part or nothing. */
export async function uploadAll(plane: Sender, attempt: Attempt): Promise<Evidence> {
  const shelf = attempt.shelf.all();
  let taken = 0;
  for (const artifact of shelf) taken += Number(await upload(plane, attempt, artifact));
  if (taken === shelf.length) return "complete";
  return taken === 0 ? "none" : "partial";
}

async function upload(plane: Sender, attempt: Attempt, artifact: Artifact): Promise<boolean> {
  let from = 0;
  for (let resumes = 0; resumes <= RESUMES_MAX;) {
    const kept = await sendChunk(plane, attempt, { artifact, from });
    if (kept === "all") return true;
    if (kept === "refused") return false;
    if (kept <= from) resumes += 1;
    from = kept;
  }
  return false;
}

interface Place {
  readonly artifact: Artifact;
  readonly from: number;
}

/** Answers how many bytes the plane keeps by now; `refused` also when the lease ended before it answered. */
async function sendChunk(
  plane: Sender,
  attempt: Attempt,
  { artifact: { file, bytes }, from }: Place,
): Promise<number | "all" | "refused"> {
  const { attempt_id: id, epoch } = attempt.grant;
  const chunk = {
    sha256: file.sha256,
    epoch,
    bytes: bytes.subarray(from, from + UPLOAD_CHUNK_BYTES_MAX),
    from,
    total: file.size,
  };
  try {
    const { received, complete } = await patiently(attempt, () => plane.upload(id, chunk));
    return complete ? "all" : received;
  } catch (error) {
    return error instanceof AimError && error.code === "upload_offset"
      ? Number(error.at)
      : "refused";
  }
}
