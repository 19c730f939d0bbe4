// Which kept bytes the rows name: files of bundles and parts of manifests. A backup is whole when it has them all.
import type { Kysely } from "kysely";
import type { BundleFile, Manifest } from "@aim/contract";
import type { Schema } from "../schema.ts";

export interface ReferencedBlobs {
  readonly of: "bundles" | "manifests";
  /** Where the last page ended; empty for the first. */
  readonly after: string;
  readonly limit: number;
}

export interface ReferencedPage {
  readonly digests: readonly string[];
  /** Null when there is no more. */
  readonly next: string | null;
}

/** The rows of one page. A bundle that two customers have is one: its digest is that of its files. */
export async function referencedBlobs(
  db: Kysely<Schema>,
  { of, after, limit }: ReferencedBlobs,
): Promise<ReferencedPage> {
  const rows =
    of === "bundles"
      ? await db
          .selectFrom("bundles")
          .select(["digest as key", "files as document"])
          .distinct()
          .where("digest", ">", after)
          .orderBy("digest")
          .limit(limit)
          .execute()
      : await db
          .selectFrom("manifests")
          .select(["attempt_id as key", "manifest as document"])
          .where("attempt_id", ">", after)
          .orderBy("attempt_id")
          .limit(limit)
          .execute();
  const digests = rows.flatMap(({ document }) =>
    filesOf(JSON.parse(document)).map(({ sha256 }) => sha256),
  );
  return { digests, next: rows.length < limit ? null : (rows.at(-1)?.key ?? null) };
}

function filesOf(document: unknown): readonly { readonly sha256: string }[] {
  return Array.isArray(document) ? (document as BundleFile[]) : (document as Manifest).files;
}
