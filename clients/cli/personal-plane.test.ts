import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { ensurePlane } from "./personal-plane.ts";

const ANSWERING = fileURLToPath(new URL("testing/answering-entry.ts", import.meta.url));
const FAILING = fileURLToPath(new URL("testing/failing-entry.ts", import.meta.url));

const folders: string[] = [];

function fresh() {
  const stateDir = mkdtempSync(join(tmpdir(), "aim-state-"));
  folders.push(stateDir);
  return { stateDir, socketPath: join(stateDir, "aimd.sock"), socketGiven: false };
}

function starts(stateDir: string): number[] {
  return readFileSync(join(stateDir, "starts"), "utf8").trim().split("\n").map(Number);
}

afterEach(() => {
  for (const folder of folders.splice(0)) {
    if (statSync(join(folder, "starts"), { throwIfNoEntry: false }) !== undefined) {
      for (const processId of starts(folder)) process.kill(processId, "SIGKILL");
    }
    rmSync(folder, { recursive: true, force: true });
  }
});

test("many callers at once get one plane", async () => {
  const places = fresh();
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => ensurePlane(places, { entry: ANSWERING })),
  );
  expect(answers.toSorted()).toEqual(["found", "found", "found", "found", "started"]);
  expect(starts(places.stateDir)).toHaveLength(1);
  expect(await ensurePlane(places, { entry: FAILING })).toBe("found");
  expect(statSync(join(places.stateDir, "aimd.log")).mode & 0o777).toBe(0o600);
});

test("a lock left by a dead process is no obstacle", async () => {
  const places = fresh();
  // Beyond the largest process id of Linux, so surely nobody's.
  writeFileSync(join(places.stateDir, "aimd.starting"), "4194305");
  expect(await ensurePlane(places, { entry: ANSWERING })).toBe("started");
});

test("a plane that does not come up is told with its codes, and the lock is given back", async () => {
  const places = fresh();
  const failed = await ensurePlane(places, { entry: FAILING }).catch((error: unknown) => error);
  expect(failed).toMatchObject({ name: "CliFault", exitCode: 69 });
  expect(String(failed)).toContain("state_in_use");
  expect(String(failed)).not.toContain("not to be shown");
  expect(await ensurePlane(places, { entry: ANSWERING })).toBe("started");
});

test("a named socket is never served by a plane of ours", async () => {
  const places = { ...fresh(), socketGiven: true };
  await expect(ensurePlane(places, { entry: ANSWERING })).rejects.toMatchObject({ exitCode: 69 });
});
