// A backup that was taken while the plane worked is a plane again; anything that is not whole is refused.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isTerminal, type BackupReport } from "@aim/contract";
import { auditLine, createClient, verifyAudit, type Client } from "@aim/sdk";
import { INPUTS, SPEC } from "../store/samples.ts";
import { makeFolder, startPlane, until, type TestPlane } from "../harness/plane.ts";
import { startPostgres } from "../harness/postgres.ts";
import { joinRunner, part, reportOf, type ScriptedRunner } from "../harness/scripted-runner.ts";

const AIMD = fileURLToPath(new URL("../../plane/main.ts", import.meta.url));
const NO_RUNNER = ["--no-runner"];
const RUNNERS = 3;
const JOBS = 150;

function aimd(...args: readonly string[]) {
  return spawnSync(process.execPath, [AIMD, ...args], { encoding: "utf8" });
}

async function makeBundle(client: Client): Promise<string> {
  const bytes = new Uint8Array(Buffer.from("- hosts: all\n"));
  const sha256 = await client.uploadSource(bytes);
  const file = { path: "project/site.yml", sha256, size: bytes.length, executable: false };
  return (await client.createBundle({ customer: "acme", files: [file] })).bundle_digest;
}

/** Takes jobs and ends them, each with a part of its own, until told to stop. */
async function work(
  runner: ScriptedRunner,
  ended: () => boolean,
  onDone: () => void,
): Promise<void> {
  while (!ended()) {
    const grant = await runner.takeOne().catch(() => null);
    if (grant === null) continue;
    const log = part("tool.log", `log of ${grant.attempt_id}\n`);
    const { sha256, size } = log.file;
    const chunk = { sha256, epoch: grant.epoch, bytes: log.bytes, from: 0, total: size };
    await runner.upload(grant.attempt_id, chunk);
    await runner.complete(grant.attempt_id, reportOf(grant, [log.file]));
    onDone();
  }
}

async function loaded(plane: TestPlane, during: () => Promise<void>): Promise<void> {
  const digest = await makeBundle(plane.client);
  let over = false;
  let done = 0;
  const runners = await Promise.all(
    Array.from({ length: RUNNERS }, () => joinRunner(plane.stateDir)),
  );
  const working = runners.map((runner) =>
    work(
      runner,
      () => over,
      () => (done += 1),
    ),
  );
  let sent = 0;
  const sending = (async () => {
    while (sent < JOBS) {
      // As many as keep the runners busy, so that the load lasts as long as the backup.
      if (!over) await until(60_000, () => over || sent - done < 2 * RUNNERS);
      sent += 1;
      const spec = {
        ...SPEC,
        inputs: INPUTS,
        source: { bundle_digest: digest },
        destructive: true,
        idempotency_key: `load-${sent}`,
      };
      await plane.client.createJob({ spec });
    }
  })();
  const many = async () => (await plane.client.jobs({ state: "succeeded" })).length >= 10;
  await until(60_000, many);
  await during();
  over = true;
  await sending;
  await Promise.all(working);
}

describe("a backup under load", () => {
  let home: string;
  let backup: string;
  let told: BackupReport;
  let before: number;
  let modes: string[];

  beforeAll(async () => {
    home = makeFolder("backup");
    backup = join(home, "backup");
    await using plane = await startPlane({ runner: false, arguments: NO_RUNNER });
    await loaded(plane, async () => {
      before = (await plane.client.jobs({ limit: 200 })).length;
      const taken = aimd("backup", "--state", plane.stateDir, backup);
      if (taken.status !== 0) throw new Error(taken.stderr);
      told = JSON.parse(taken.stdout) as BackupReport;
    });
    modes = readdirSync(plane.stateDir).filter((name) => name.endsWith(".key"));
  }, 300_000);
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  const restored = (name: string, from = backup) => {
    const stateDir = join(home, name, "state");
    mkdirSync(join(home, name), { recursive: true });
    return { stateDir, ended: aimd("restore", from, "--state", stateDir) };
  };

  /** A copy of the backup to be damaged. */
  const copy = (name: string): string => {
    const folder = join(home, name);
    cpSync(backup, folder, { recursive: true });
    return folder;
  };

  const blobsOf = (folder: string): string[] =>
    readdirSync(join(folder, "blobs"), { recursive: true, encoding: "utf8" })
      .map((path) => join(folder, "blobs", path))
      .filter((path) => statSync(path).isFile());

  test("holds the database, the bytes and no key", () => {
    expect(told).toMatchObject({ database: "sqlite", missing: [], with_keys: false });
    expect(told.blobs).toBe(blobsOf(backup).length);
    expect(told.blobs).toBeGreaterThan(10);
    expect(readdirSync(join(backup, "keys"))).toEqual(["seal.pub"]);
    expect(modes).toContain("seal.key");
    expect(statSync(join(backup, "aim.sqlite")).mode & 0o077).toBe(0);
  });

  test("is a plane again, with everything that was answered before it, and a whole audit", async () => {
    const { ended } = restored("again");
    expect(ended.stderr).toBe("");
    expect(ended.status).toBe(0);
    await using plane = await startPlane({
      home: join(home, "again"),
      runner: false,
      arguments: [...NO_RUNNER, "--lease-ttl-s", "1"],
    });
    const jobs = await plane.client.jobs({ limit: 200 });
    expect(jobs.length).toBeGreaterThanOrEqual(before);
    const rows = [];
    for (let page = await plane.client.audit(0); page.length > 0;) {
      rows.push(...page);
      page = await plane.client.audit(page.at(-1)?.position ?? 0);
    }
    const executed = rows.filter(({ action }) => action === "job.execute").length;
    expect(executed).toBe(jobs.length);
    const report = await verifyAudit(rows.map(auditLine));
    expect(report).toMatchObject({ finding: null, rows: rows.length });
    // Whoever held a lease is gone: nothing stays with a runner that does not come back.
    await until(30_000, async () => {
      const states = (await plane.client.jobs({ limit: 200 })).map(
        ({ attempts }) => attempts.at(-1)?.state ?? "queued",
      );
      return states.every((state) => state === "queued" || isTerminal(state));
    });
    const done = (await plane.client.runs()).find(({ state }) => state === "succeeded");
    const { files } = await plane.client.artifacts(done?.run_id ?? "");
    const [log] = files;
    if (log === undefined) throw new Error("no part");
    expect(Buffer.from(await plane.client.artifact(done?.run_id ?? "", log)).toString()).toBe(
      `log of ${done?.run_id}\n`,
    );
  });

  test("is refused when a byte of a blob is another one", () => {
    const damaged = copy("blob-damaged");
    const [blob = ""] = blobsOf(damaged);
    rmSync(blob);
    writeFileSync(blob, "other bytes");
    const { ended, stateDir } = restored("blob-damaged-state", damaged);
    expect(ended.status).toBe(69);
    expect(ended.stderr).toContain("is damaged");
    expect(existsSync(stateDir)).toBe(false);
  });

  test("is refused when a blob that a row names is not in it", () => {
    const damaged = copy("blob-missing");
    unlinkSync(blobsOf(damaged)[0] ?? "");
    expect(restored("blob-missing-state", damaged).ended).toMatchObject({
      status: 69,
      stderr: expect.stringContaining("is missing"),
    });
  });

  test.for([
    ["an attempt without its job", "DELETE FROM jobs", "refers to nothing"],
    [
      "an ended attempt without a result",
      "DROP TRIGGER terminal_attempts_stand; UPDATE attempts SET result = NULL",
      "an ended attempt has no result",
    ],
    [
      "an audit that was changed",
      "DROP TRIGGER audit_stands_update; UPDATE audit SET outcome = 'refused' WHERE position = 2",
      "the audit's chain breaks at row 2",
    ],
    [
      "an audit without its end",
      "DROP TRIGGER audit_stands_delete; DELETE FROM audit WHERE position > 3",
      "the audit's chain breaks at row 4",
    ],
  ] as const)("is refused with %s", ([name, sql, sentence]) => {
    const damaged = copy(name.replaceAll(" ", "-"));
    const database = new DatabaseSync(join(damaged, "aim.sqlite"));
    database.exec(`PRAGMA foreign_keys = OFF; ${sql}`);
    database.close();
    const { ended } = restored(`${name.replaceAll(" ", "-")}-state`, damaged);
    expect(ended.status).toBe(69);
    expect(ended.stderr).toContain(sentence);
  });

  test("is refused with pages that are damaged, and without its last file", () => {
    const damaged = copy("pages");
    const path = join(damaged, "aim.sqlite");
    const bytes = readFileSync(path);
    bytes.fill(0x5a, 8_192, 16_384);
    writeFileSync(path, bytes);
    expect(restored("pages-state", damaged).ended.status).toBe(69);
    const cut = copy("cut");
    unlinkSync(join(cut, "backup.json"));
    expect(restored("cut-state", cut).ended).toMatchObject({
      status: 69,
      stderr: expect.stringContaining("is no whole backup"),
    });
  });

  test("is not restored over anything", () => {
    const stateDir = join(home, "taken");
    mkdirSync(stateDir);
    writeFileSync(join(stateDir, "mine"), "");
    const ended = aimd("restore", backup, "--state", stateDir);
    expect(ended.status).toBe(69);
    expect(readdirSync(stateDir)).toEqual(["mine"]);
  });
});

test("where no plane runs the state folder itself is copied, keys only when asked", async () => {
  const plane = await startPlane({ runner: false, arguments: NO_RUNNER });
  await plane.stop();
  const home = makeFolder("rest");
  const target = join(home, "with-keys");
  const taken = aimd("backup", "--state", plane.stateDir, "--with-keys", target);
  expect(taken.stderr).toBe("");
  expect(readdirSync(join(target, "keys")).toSorted()).toEqual([
    "seal.key",
    "seal.pub",
    "webhook.key",
  ]);
  // A second one does not go over the first.
  expect(aimd("backup", "--state", plane.stateDir, target).status).not.toBe(0);
  const stateDir = join(home, "state");
  expect(aimd("restore", target, "--state", stateDir).status).toBe(0);
  expect(readFileSync(join(stateDir, "seal.key"))).toEqual(
    readFileSync(join(plane.stateDir, "seal.key")),
  );
  await plane[Symbol.asyncDispose]();
  rmSync(home, { recursive: true });
});

test("on PostgreSQL the bytes are copied, and it is said who copies the rows", async () => {
  await using postgres = await startPostgres();
  const home = makeFolder("backup-pg");
  const file = join(home, "url");
  writeFileSync(file, postgres.createDatabase());
  await using plane = await startPlane({
    runner: false,
    arguments: [...NO_RUNNER, "--database-file", file],
  });
  await makeBundle(plane.client);
  const target = join(home, "target");
  const taken = aimd("backup", "--state", plane.stateDir, target);
  expect(taken.status).toBe(0);
  expect(taken.stderr).toContain("pg_dump");
  expect(JSON.parse(taken.stdout)).toMatchObject({ database: "postgresql", blobs: 1 });
  expect(existsSync(join(target, "aim.sqlite"))).toBe(false);
  const client = createClient({ socketPath: plane.socketPath });
  expect((await client.audit()).at(-1)).toMatchObject({
    action: "setting.write",
    detail: { route: "backup", with_keys: false },
  });
  rmSync(home, { recursive: true });
});
