// SPDX-License-Identifier: Apache-2.0
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { collect } from "./doctor.ts";
import { portOf, shell, testJob, withSandbox } from "./testing/fixture.ts";

const SSHD = "/usr/sbin/sshd";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server);
  server.close();
  await once(server, "close");
  return port;
}

async function startServer(directory: string, port: number): Promise<ChildProcess> {
  for (const name of ["host", "user", "stranger"]) {
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(directory, name)]);
  }
  const lines = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${directory}/host`,
    `AuthorizedKeysFile ${directory}/user.pub`,
    "StrictModes no",
    "UsePAM no",
    "PidFile none",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
  ];
  writeFileSync(join(directory, "config"), `${lines.join("\n")}\n`);
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });
  const server = spawn(SSHD, ["-D", "-e", "-f", join(directory, "config")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  while (server.stderr && !log.includes("listening")) {
    const [chunk] = await once(server.stderr, "data");
    log += String(chunk);
  }
  return server;
}

test.skipIf(!existsSync(SSHD))(
  "a real ssh session runs through the broker, with the agent's key, to a known host only",
  async () => {
    const directory = mkdtempSync("/tmp/aim-sshd-");
    const port = await freePort();
    const server = await startServer(directory, port);
    const target = `-p ${port} ${userInfo().username}@127.0.0.1`;
    const script = [
      `ssh ${target} 'echo down; head -c 4000000 /dev/zero' | wc -c`,
      `head -c 4000000 /dev/zero | ssh ${target} 'wc -c'`,
      `ssh ${target} exit 5; echo $?`,
      `ssh -o ControlMaster=auto -o ControlPersist=60 ${target} true; ls -A /run/secrets | wc -l`,
      `echo "[127.0.0.1]:${port} $1" > known_hosts; ssh -o ControlPath=none ${target} true 2>/dev/null; echo $?`,
    ].join("\n");
    try {
      await withSandbox(async (sandbox) => {
        sandbox.allowEgress([{ host: "127.0.0.1", port, protocol: "tcp" }]);
        const known = `[127.0.0.1]:${port} ${readFileSync(`${directory}/host.pub`, "utf8")}`;
        writeFileSync(join(sandbox.workspace, "known_hosts"), known, { mode: 0o666 });
        // The runner made it; the tool may not be its owner.
        execFileSync("chmod", ["0666", join(sandbox.workspace, "known_hosts")]);
        const stranger = readFileSync(`${directory}/stranger.pub`, "utf8").trim();
        const tool = await sandbox.start(
          testJob(shell(script, stranger), {
            inputs: [{ kind: "ssh_key", bytes: readFileSync(`${directory}/user`) }],
          }),
        );
        const [stdout] = await Promise.all([collect(tool.stdout), collect(tool.stderr)]);
        // "2": the agent's socket and the persistent connection's, both on the tmpfs.
        expect(stdout.trim().split("\n")).toEqual(["4000005", "4000000", "5", "2", "255"]);
        expect(sandbox.egress).toMatchObject({ allowed: 5, denied: 0 });
        expect(await sandbox.destroy()).toEqual({ killConfirmed: true, leftovers: 0 });
      });
    } finally {
      server.kill("SIGKILL");
      await once(server, "exit");
      rmSync(directory, { recursive: true, force: true });
    }
  },
  30_000,
);
