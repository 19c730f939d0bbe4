// `aimctl artifacts list|get`: the list of a run's bundle, or the checked bytes of one part of it.
import type { Manifest } from "@aim/contract";
import { type Client } from "@aim/sdk";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { visible, visibleDocument } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { tableLines } from "../render/table.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";

export async function listArtifacts(runId: string, flags: OutputFlags): Promise<ExitCode> {
  const client = connect(flags);
  const manifest = await client.artifacts(runId);
  print(flags, manifest, listing);
  return EXIT.ok;
}

export async function getArtifact(
  runId: string,
  path: string,
  flags: GlobalFlags,
): Promise<ExitCode> {
  const client = connect(flags);
  await writeArtifact(client, await client.artifacts(runId), path);
  return EXIT.ok;
}

async function writeArtifact(client: Client, manifest: Manifest, path: string): Promise<void> {
  const file = manifest.files.find((candidate) => candidate.path === path);
  if (file === undefined) {
    throw new CliFault(
      EXIT.usage,
      `The bundle has no ${visible(path)}. List it with aimctl artifacts list RUN.`,
    );
  }
  const bytes = await client.artifact(manifest.attempt_id, file);
  // Kept bytes may hold control codes; a file takes them, a terminal must not.
  if (process.stdout.isTTY) process.stdout.write(visibleDocument(new TextDecoder().decode(bytes)));
  else process.stdout.write(bytes);
}

/** A bundle of which nothing was kept has failed. */
const BUNDLE_STATES = { complete: "complete", partial: "partial", none: "failed" } as const;

function listing(manifest: Manifest): string[] {
  const rows = manifest.files.map((file) => [file.path, file.kind, String(file.size), file.sha256]);
  const { redaction, sandbox } = manifest;
  const masked = redaction.applied
    ? `${redaction.masked} masked, rules ${redaction.rules_version}`
    : "not applied";
  const weak = redaction.weak ? ", with secrets too short to be masked everywhere" : "";
  return [
    ...tableLines(["PATH", "KIND", "BYTES", "SHA256"], rows),
    "",
    `bundle     ${visible(BUNDLE_STATES[manifest.evidence])}`,
    `redaction  ${masked}${weak}`,
    `sandbox    ${visible(sandbox.kind)} ${visible(sandbox.version)}, ${sandbox.egress_allowed} connections allowed, ${sandbox.egress_denied} denied`,
  ];
}
