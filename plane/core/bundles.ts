// Bundles that a control plane uploads: exactly the named files, each kept before, within the limits of every bundle.
import {
  AimError,
  BUNDLE_BYTES_MAX,
  BUNDLE_FILE_BYTES_MAX,
  BUNDLE_PATH_BYTES_MAX,
  canonicalJson,
  type Bundle,
  type BundleFile,
  type KeptBundle,
  type Principal,
} from "@aim/contract";
import { allowed } from "../audit/chain.ts";
import type { CoreParts } from "./parts.ts";
import { requireIn } from "./rights.ts";

/** Where content may stand in a workspace. */
const PLACES = /^(?:project|inventory)\/.|^known_hosts$/;

/** Throws content_unsupported, content_too_large or bundle_incomplete with the place of the first file that is wrong. */
export async function keepBundle(
  parts: Pick<CoreParts, "blobs" | "clock" | "digest" | "store">,
  who: Principal,
  { customer, files }: Bundle,
): Promise<KeptBundle> {
  requireIn(who, "job.prepare", { customer, code: "unknown_customer" });
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const paths = new Set(sorted.map(({ path }) => path));
  if (paths.size !== sorted.length) throw new AimError("content_unsupported");
  let bytes = 0;
  for (const file of sorted) {
    checkPath(file, paths);
    bytes += file.size;
    const large = file.size > BUNDLE_FILE_BYTES_MAX || bytes > BUNDLE_BYTES_MAX;
    if (large) throw new AimError("content_too_large", file.path);
    if ((await parts.blobs.sizeOf(file.sha256)) !== file.size) {
      throw new AimError("bundle_incomplete", file.path);
    }
  }
  const digest = parts.digest(canonicalJson(sorted));
  const audit = allowed(who, {
    action: "job.prepare",
    customer,
    what: { bundle_digest: digest },
    now: parts.clock.now(),
  });
  await parts.store.saveBundle({ customer, digest, files: sorted, audit });
  return { bundle_digest: digest };
}

function checkPath({ path }: BundleFile, paths: ReadonlySet<string>): void {
  const segments = path.split("/");
  const odd = segments.some((name) => name === "" || name === "." || name === "..");
  const hidden = /[\u0000-\u001f\u007f\\]/.test(path);
  if (odd || hidden || !PLACES.test(path)) throw new AimError("content_unsupported", path);
  if (Buffer.byteLength(path) > BUNDLE_PATH_BYTES_MAX)
    throw new AimError("content_too_large", path);
  // A file and a folder of one name cannot both be.
  const above = segments.map((_, depth) => segments.slice(0, depth).join("/"));
  if (above.some((folder) => paths.has(folder))) throw new AimError("content_unsupported", path);
}
