import { createHash, generateKeyPairSync } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  canonicalJson,
  EvidenceStatementSchema,
  SealEnvelopeSchema,
  SealKeySchema,
} from "@aim/contract";
import { aimctl } from "../../clients/cli/testing/run-aimctl.ts";
import { check } from "../../plane/http/check.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { makeFolder, runRequest, startPlane, until, type TestPlane } from "../harness/plane.ts";
import { countRows } from "../harness/stored.ts";

const PLAYBOOK = `
- name: Evidence
  hosts: all
  gather_facts: false
  tasks:
    - name: Do nothing
      ansible.builtin.command: /bin/true
      changed_when: false
`;

function writeSite(plane: TestPlane): void {
  writeCustomer(plane.catalogDir, {
    playbooks: { site: { playbook: "site.yml" } },
    files: {
      "inventory.ini": "one ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n",
      "site.yml": PLAYBOOK,
    },
  });
}

const REQUEST = { customer: "acme", playbook: "site", hosts: ["one"] };

let home: string;
let plane: TestPlane;
let runId: string;
let exported: string;

beforeAll(async () => {
  home = makeFolder("evidence");
  plane = await startPlane({ home });
  writeSite(plane);
  const { result } = await runRequest(plane.client, REQUEST);
  expect(result).toMatchObject({ state: "succeeded", evidence: "complete" });
  runId = result.run_id;
  exported = join(home, "exported");
});
afterAll(async () => {
  await plane.stop();
  rmSync(home, { recursive: true, force: true });
});

const verify = (dir: string, ...more: string[]) => aimctl(["evidence", "verify", dir, ...more]);
const exportTo = (dir: string) =>
  aimctl(["evidence", "export", runId, dir, "--socket", plane.socketPath]);
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .toSorted();
}

/** A copy of the exported folder, changed. */
function damaged(name: string, change: (dir: string) => void): string {
  const dir = join(home, name);
  cpSync(exported, dir, { recursive: true });
  change(dir);
  return dir;
}

test("a run's evidence is exported whole and verifies without a plane", async () => {
  const ended = await exportTo(exported);
  expect(ended).toMatchObject({ exit: 0, stderr: "" });
  const manifest = await plane.client.artifacts(runId);
  const listed = manifest.files.map(({ path }) => path);
  const own = ["manifest.json", "result.json", "seal.json", "seal.pub"];
  expect(filesBelow(exported)).toEqual([...listed, ...own].toSorted());
  const { result } = await plane.client.status(runId);
  expect(sha256(readFileSync(join(exported, "manifest.json")))).toBe(result?.manifest_digest);
  expect(readFileSync(join(exported, "result.json"), "utf8")).toBe(canonicalJson(result));
  expect(statSync(join(exported, "result.json")).mode & 0o777).toBe(0o600);
  const own_key = await verify(exported);
  expect(own_key.exit).toBe(0);
  expect(own_key.stdout).toContain(`WHOLE: ${runId}, ansible.playbook.run, succeeded`);
  expect(own_key.stdout).toContain("The key itself is not vouched for");
  const trusted = await verify(exported, "--key", join(plane.stateDir, "seal.pub"));
  expect(trusted.exit).toBe(0);
  expect(trusted.stdout).toContain("the one you gave");
  const json = await verify(exported, "--output", "json");
  expect(JSON.parse(json.stdout)).toMatchObject({ whole: true, findings: [], vouched: false });
});

test("seal, statement and key are those of the contract, and the private key is nobody else's", async () => {
  const envelope = await plane.client.seal(runId);
  const key = await plane.client.sealKey();
  expect(check(SealEnvelopeSchema, envelope)).toEqual(envelope);
  expect(check(SealKeySchema, key).keyid).toBe(envelope.signatures[0]?.keyid);
  const statement = JSON.parse(Buffer.from(envelope.payload, "base64").toString()) as unknown;
  expect(check(EvidenceStatementSchema, statement)).toMatchObject({
    predicate: { attempt_id: runId, state: "succeeded", effect: "complete", evidence: "complete" },
  });
  expect(statSync(join(plane.stateDir, "seal.key")).mode & 0o777).toBe(0o600);
  await expect(plane.client.seal(`run_${"0".repeat(26)}`)).rejects.toMatchObject({
    code: "not_found",
  });
});

test("an export never writes into a folder that holds something", async () => {
  const dir = join(home, "taken");
  mkdirSync(dir);
  writeFileSync(join(dir, "mine"), "mine");
  expect((await exportTo(dir)).exit).toBe(64);
  expect((await exportTo(join(dir, "mine"))).exit).toBe(64);
  expect(filesBelow(dir)).toEqual(["mine"]);
  const unknown = ["evidence", "export", `run_${"0".repeat(26)}`, join(home, "none")];
  expect((await aimctl([...unknown, "--socket", plane.socketPath])).exit).toBe(64);
});

const flip = (path: string) => (dir: string) => {
  const bytes = readFileSync(join(dir, path));
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  writeFileSync(join(dir, path), bytes);
};

test.for([
  ["a flipped bit in a log", flip("logs/stdout.log"), "digest_mismatch  logs/stdout.log"],
  ["a flipped bit in the manifest", flip("manifest.json"), "digest_mismatch  manifest.json"],
  ["a flipped bit in the result", flip("result.json"), "digest_mismatch  result.json"],
  ["a flipped bit in the seal", flip("seal.json"), "seal.json"],
  ["a flipped bit in the key", flip("seal.pub"), "seal"],
  [
    "a missing file",
    (dir: string) => rmSync(join(dir, "events.jsonl")),
    "file_missing  events.jsonl",
  ],
  [
    "an extra file",
    (dir: string) => writeFileSync(join(dir, "logs/more.log"), ""),
    "file_unexpected  logs/more.log",
  ],
  ["an extra folder", (dir: string) => mkdirSync(join(dir, "more")), "file_unexpected  more/"],
  ["no seal", (dir: string) => rmSync(join(dir, "seal.json")), "seal_missing  seal.json"],
  [
    "a link in the place of a file, to the same bytes",
    (dir: string) => {
      rmSync(join(dir, "events.jsonl"));
      symlinkSync(join(exported, "events.jsonl"), join(dir, "events.jsonl"));
    },
    "malformed  events.jsonl",
  ],
  [
    "a link in the place of a folder",
    (dir: string) => {
      rmSync(join(dir, "logs"), { recursive: true });
      symlinkSync(join(exported, "logs"), join(dir, "logs"));
    },
    "malformed  logs",
  ],
  [
    "a link in the place of the seal",
    (dir: string) => {
      rmSync(join(dir, "seal.json"));
      symlinkSync(join(exported, "seal.json"), join(dir, "seal.json"));
    },
    "malformed  seal.json",
  ],
] as const)("%s ends the verification with 1", async ([name, change, line]) => {
  const dir = damaged(name.replaceAll(/\W+/g, "-"), change);
  const ended = await verify(dir, "--key", join(plane.stateDir, "seal.pub"));
  expect(ended.exit).toBe(1);
  expect(ended.stdout).toContain(line);
  expect(ended.stdout).toContain("NOT WHOLE");
  expect(ended.stderr).toBe("");
});

test("another key is no key, and what is no key is a usage error", async () => {
  const { publicKey } = generateKeyPairSync("ed25519");
  const path = join(home, "other.pub");
  writeFileSync(path, publicKey.export({ type: "spki", format: "pem" }));
  const ended = await verify(exported, "--key", path);
  expect(ended).toMatchObject({ exit: 1 });
  expect(ended.stdout).toContain("signature_invalid  seal.json");
  expect((await verify(exported, "--key", join(home, "nowhere"))).exit).toBe(64);
  expect((await verify(exported, "--key", join(exported, "seal.json"))).exit).toBe(64);
  expect((await verify(join(home, "nowhere"))).exit).toBe(64);
});

test("a hard link is a file like another", async () => {
  const dir = damaged("hard", (copy) => {
    rmSync(join(copy, "events.jsonl"));
    linkSync(join(exported, "events.jsonl"), join(copy, "events.jsonl"));
  });
  expect((await verify(dir)).exit).toBe(0);
});

/** What a plane that was killed between end and seal leaves: the ended attempt without its seal. */
function takeSealAway(stateDir: string): void {
  const database = new DatabaseSync(join(stateDir, "aim.sqlite"));
  try {
    expect(database.prepare("DELETE FROM seals WHERE attempt_id = ?").run(runId).changes).toBe(1);
  } finally {
    database.close();
  }
}

test("a plane that was killed before it sealed seals at its next start, with the same key", async () => {
  const before = await plane.client.sealKey();
  await until(10_000, () => countRows(plane.stateDir, "seals") === 1);
  await plane.stop("SIGKILL");
  takeSealAway(plane.stateDir);
  plane = await startPlane({ home });
  await until(10_000, () => countRows(plane.stateDir, "seals") === 1);
  expect(await plane.client.sealKey()).toEqual(before);
  const again = join(home, "again");
  expect((await exportTo(again)).exit).toBe(0);
  const key = join(exported, "seal.pub");
  expect((await verify(again, "--key", key)).exit).toBe(0);
});

test("a run that was sealed with a former key is exported without a key and verifies with it", async () => {
  const former = join(home, "former.pub");
  copyFileSync(join(plane.stateDir, "seal.pub"), former);
  await plane.stop();
  rmSync(join(plane.stateDir, "seal.key"));
  plane = await startPlane({ home: dirname(plane.stateDir) });
  const dir = join(home, "former");
  const ended = await exportTo(dir);
  expect(ended.stderr).toContain("sealed with a former key");
  expect((await verify(dir, "--key", former)).exit).toBe(0);
  expect((await verify(dir)).exit).toBe(1);
});
