// Collects every byte that a plane keeps or sends about its runs.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf, type Manifest } from "@aim/contract";
import { aimctl } from "../../clients/cli/testing/run-aimctl.ts";
import type { TestPlane } from "../harness/plane.ts";
import { call, operationLine } from "../harness/wire.ts";

export type Stores = Map<string, Buffer>;

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Digests of the project's own files: what a review is about is kept as it is. */
export function digestsOf(project: string): Set<string> {
  return new Set(
    filesBelow(project).map((path) =>
      createHash("sha256").update(readFileSync(path)).digest("hex"),
    ),
  );
}

/** Every file of the state folder but the reviewed sources, and the service log. */
export function addKept(stores: Stores, plane: TestPlane, sources: ReadonlySet<string>): void {
  for (const path of filesBelow(plane.stateDir)) {
    const bytes = readFileSync(path);
    const digest = createHash("sha256").update(bytes).digest("hex");
    if (!sources.has(digest)) stores.set(path.slice(plane.stateDir.length + 1), bytes);
  }
  stores.set("aimd.log", Buffer.from(plane.logText()));
}

/** Everything that the plane answers about one run. */
export async function addSent(stores: Stores, plane: TestPlane, runId: string): Promise<void> {
  const { socketPath } = plane;
  const get = async (path: string): Promise<string> => (await call({ socketPath, path })).text;
  const add = (name: string, text: string) =>
    stores.set(`HTTP ${name} ${runId}`, Buffer.from(text));
  add("events", await get(`${pathOf("runEvents", { run_id: runId })}?after=0`));
  add("runs", await get(pathOf("runList")));
  const body = operationLine({ operation: "status", run_id: runId });
  add("status", (await call({ socketPath, body })).text);
  const manifest = await get(pathOf("artifactList", { run_id: runId }));
  add("manifest", manifest);
  // A run whose runner was killed left none.
  const { files } = JSON.parse(manifest) as Partial<Manifest>;
  for (const file of files ?? []) {
    add(file.path, await get(pathOf("artifact", { run_id: runId, sha256: file.sha256 })));
  }
}

/** What aimctl prints about one run, in each of its forms. */
export async function addPrinted(stores: Stores, plane: TestPlane, runId: string): Promise<void> {
  const socket = ["--socket", plane.socketPath];
  const asked = [
    ["watch", runId],
    ["watch", runId, "--output", "json"],
    ["watch", runId, "--output", "ndjson"],
    ["status", runId],
    ["status", runId, "--output", "json"],
  ];
  for (const words of asked) {
    const { stdout, stderr } = await aimctl([...socket, ...words]);
    stores.set(`aimctl ${words.join(" ")}`, Buffer.from(`${stdout}\n${stderr}`));
  }
}
