// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { expect, test } from "vitest";
import { collect } from "./doctor.ts";
import { openSandbox } from "./sandbox.ts";
import type { PrivateInput, Sandbox, SandboxJob } from "./sandbox.ts";
import { comesTrue, portOf, shell, testConfig, testJob, withSandbox } from "./testing/fixture.ts";

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  readonly reason: string;
}

async function run(sandbox: Sandbox, job: SandboxJob): Promise<Outcome> {
  const tool = await sandbox.start(job);
  const [stdout, stderr, exit] = await Promise.all([
    collect(tool.stdout),
    collect(tool.stderr),
    tool.exit,
  ]);
  return { stdout, stderr, code: exit.code, reason: exit.reason };
}

async function untilSeen(stream: Readable, text: string): Promise<string> {
  let seen = "";
  while (!seen.includes(text)) {
    const [chunk] = await once(stream, "data");
    seen += String(chunk);
  }
  return seen;
}

function makeKey(passphrase: string): { key: Buffer; publicKey: string } {
  const directory = mkdtempSync("/tmp/aim-key-");
  const path = join(directory, "key");
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", path]);
  const made = { key: readFileSync(path), publicKey: readFileSync(`${path}.pub`, "utf8").trim() };
  rmSync(directory, { recursive: true });
  return made;
}

const named = (kind: "pipe" | "fifo" | "file", name: string, text: string): PrivateInput => ({
  kind,
  name,
  bytes: Buffer.from(text),
});

test("a tool runs in the workspace the runner filled, and its exit code and output come back", async () => {
  await withSandbox(async (sandbox) => {
    writeFileSync(join(sandbox.workspace, "input"), "from outside", { mode: 0o644 });
    const outcome = await run(sandbox, testJob(shell("cat input; echo bad >&2; id -un; exit 7")));
    expect(outcome).toEqual({
      stdout: "from outsideaim\n",
      stderr: "bad\n",
      code: 7,
      reason: "exited",
    });
  });
});

test("output that is read only after the exit is complete", async () => {
  await withSandbox(async (sandbox) => {
    const tool = await sandbox.start(
      testJob(shell("echo hello; echo frame >&$1", "{fd:frames}"), { channel: "frames" }),
    );
    await tool.exit;
    expect(await collect(tool.stdout)).toBe("hello\n");
    expect(tool.frames && (await collect(tool.frames))).toBe("frame\n");
  });
});

test("every private input reaches the tool, and none is in an argument, an environment or on the host's disk", async () => {
  const { key, publicKey } = makeKey("");
  const secrets = ["s3cret-by-pipe", "s3cret-by-fifo", "s3cret-by-file"] as const;
  await withSandbox(async (sandbox, config) => {
    const script =
      'cat "/dev/fd/$1"; cat "$2"; cat "$3"; ssh-add -L; echo up; while :; do sleep 1; done';
    const tool = await sandbox.start(
      testJob(shell(script, "{fd:a}", "{path:b}", "{path:c}"), {
        inputs: [
          named("pipe", "a", secrets[0]),
          named("fifo", "b", secrets[1]),
          named("file", "c", secrets[2]),
          { kind: "ssh_key", bytes: key },
        ],
      }),
    );
    const seen = await untilSeen(tool.stdout, "up\n");
    expect(seen).toBe(`${secrets.join("")}${publicKey} (stdin)\nup\n`);
    const places = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`]);
    const files = readdirSync(config.runtimeDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    const texts = [...places, ...files].map((path) => {
      try {
        return readFileSync(path, "latin1");
      } catch {
        return "";
      }
    });
    const keyLine = key.toString("latin1").split("\n")[1] ?? "";
    for (const secret of [...secrets, keyLine]) {
      expect(texts.some((text) => text.includes(secret))).toBe(false);
    }
    expect(files.map((path) => path.split("/").at(-1))).toEqual(["owner.json"]);
  });
});

test("a key with a passphrase is added, and with a wrong one the start fails instead of hanging", async () => {
  const { key, publicKey } = makeKey("open sesame");
  await withSandbox(async (sandbox) => {
    const passphrase = Buffer.from("open sesame");
    const job = testJob(shell("ssh-add -L; ls -A /run/secrets"), {
      inputs: [{ kind: "ssh_key", bytes: key, passphrase }],
    });
    const { stdout } = await run(sandbox, job);
    expect(stdout).toBe(`${publicKey} (stdin)\nagent.sock\n`);
  });
  await withSandbox(async (sandbox) => {
    const passphrase = Buffer.from("wrong");
    const job = testJob(shell("true"), { inputs: [{ kind: "ssh_key", bytes: key, passphrase }] });
    await expect(sandbox.start(job)).rejects.toMatchObject({ fault: "start", detail: "ssh_key" });
  });
});

test("an input larger than a pipe's buffer arrives whole", async () => {
  await withSandbox(async (sandbox) => {
    const inputs = [
      named("pipe", "big", "x".repeat(5_000_000)),
      named("fifo", "tall", "y".repeat(3_000_000)),
    ];
    const { stdout } = await run(
      sandbox,
      testJob(shell('wc -c < "/dev/fd/$1"; wc -c < "$2"', "{fd:big}", "{path:tall}"), { inputs }),
    );
    expect(stdout).toBe("5000000\n3000000\n");
  });
});

test("a job that cannot start says so with a code that holds no job data", async () => {
  const cases: readonly [Partial<SandboxJob>, string][] = [
    [{ argv: ["relative"] }, "argv[0]"],
    [{ argv: ["/no/such/s3cret"] }, "exec:2"],
    [{ argv: ["/bin/true", "{fd:unknown}"] }, "placeholder"],
    [{ argv: ["/bin/true", "a\0b"] }, "NUL"],
    [{ inputs: [named("file", "../up", "x")] }, "input name"],
    [{ inputs: [named("file", "twice", "x"), named("pipe", "twice", "x")] }, "input name"],
    [{ cwd: "/nowhere" }, "exec:2"],
  ];
  for (const [changes, detail] of cases) {
    await withSandbox(async (sandbox) => {
      const started = sandbox.start(testJob(["/bin/true"], changes));
      await expect(started).rejects.toThrow(detail);
      await expect(started).rejects.not.toThrow("s3cret");
    });
  }
});

test("a sandbox starts one job only and its id is not given twice", async () => {
  await withSandbox(async (sandbox, config) => {
    await run(sandbox, testJob(["/bin/true"]));
    await expect(sandbox.start(testJob(["/bin/true"]))).rejects.toMatchObject({ fault: "used" });
    await expect(openSandbox(config, sandbox.id)).rejects.toMatchObject({ fault: "exists" });
  });
});

test("a broken configuration is refused before anything is started", async () => {
  using config = testConfig();
  const mount = (to: string) => ({ ...config, readOnly: [{ from: "/usr", to }] });
  for (const to of [
    "/usr/x",
    "/work/x",
    "/etc",
    "/",
    "/opt/../etc",
    "relative",
    "/tmp",
    "/run/aim/x",
    "/opt/a/",
  ]) {
    await expect(openSandbox(mount(to), "bad")).rejects.toMatchObject({ fault: "bad_config" });
  }
  await expect(openSandbox(config, "../up")).rejects.toMatchObject({ fault: "bad_config" });
  await expect(
    openSandbox({ ...config, runtimeDir: `/tmp/${"x".repeat(100)}` }, "long"),
  ).rejects.toMatchObject({ fault: "bad_config" });
  await expect(openSandbox({ ...config, bwrap: "/no/bwrap" }, "none")).rejects.toMatchObject({
    fault: "bubblewrap",
  });
  expect(existsSync(join(config.runtimeDir, "none"))).toBe(false);
});

test("a hundred megabytes of output pass without being gathered in memory", async () => {
  await withSandbox(async (sandbox) => {
    const tool = await sandbox.start(testJob(shell("head -c 104857600 /dev/zero; touch done")));
    const before = process.memoryUsage().rss;
    let total = 0;
    let most = 0;
    for await (const chunk of tool.stdout) {
      if (total === 0) {
        // Not one more read: the tool has to wait for us.
        await comesTrue(() => tool.stdout.readableLength >= 65_536, 2_000);
        expect(existsSync(join(sandbox.workspace, "done"))).toBe(false);
      }
      total += Buffer.from(chunk).byteLength;
      most = Math.max(most, tool.stdout.readableLength);
    }
    expect(total).toBe(104_857_600);
    expect(most).toBeLessThan(1 << 20);
    expect(process.memoryUsage().rss - before).toBeLessThan(128 << 20);
    expect(await tool.exit).toMatchObject({ code: 0 });
  });
});

test("ssh leaves through the broker only and its errors read as OpenSSH's own", async () => {
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const port = portOf(closed);
  closed.close();
  const ssh = (host: string): string =>
    `ssh -o BatchMode=yes -p ${port} ${host} true 2>&1; echo $?;`;
  await withSandbox(async (sandbox) => {
    sandbox.allowEgress(
      ["127.0.0.1", "no-such-host.invalid"].map((host) => ({
        host,
        port,
        protocol: "tcp" as const,
      })),
    );
    const { stdout } = await run(
      sandbox,
      testJob(shell(["127.0.0.1", "192.0.2.1", "no-such-host.invalid"].map(ssh).join(" "))),
    );
    const lines = stdout.split("\n").filter((line) => /^(ssh: |aim: |\d)/.test(line));
    expect(lines.map((line) => line.trim())).toEqual([
      `ssh: connect to host 127.0.0.1 port ${port}: Connection refused`,
      "255",
      "aim: egress denied",
      "255",
      "ssh: Could not resolve hostname no-such-host.invalid: Name or service not known",
      "255",
    ]);
    expect(sandbox.egress).toMatchObject({ allowed: 0, denied: 1, failed: 2 });
  });
});
