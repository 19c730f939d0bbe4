// Managed hosts on loopback: real, private sshd processes that know one key, and ports that fail in known ways.
import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { makeFolder, until } from "../harness/plane.ts";

export const SSHD = "/usr/sbin/sshd";
const ACCOUNTS_MS = 15_000;
const READY_MS = 20_000;
const ADDRESS = "127.0.0.1";

export interface Account {
  readonly name: string;
  readonly password: string;
}

export interface Lab {
  readonly folder: string;
  readonly address: string;
  /** Whom every key login logs in as. */
  readonly user: string;
  readonly ports: {
    /** As known_hosts knows it; keys only, with sftp. */
    readonly known: number;
    /** known_hosts holds another key for it. */
    readonly changed: number;
    /** known_hosts does not hold it. */
    readonly unknown: number;
    /** Passwords too, no sftp. */
    readonly second: number;
    /** The same, and known_hosts does not hold it. */
    readonly secondUnknown: number;
    /** Takes connections and never says a word. */
    readonly silent: number;
    /** Nothing listens. */
    readonly closed: number;
  };
  readonly key: string;
  readonly strangerKey: string;
  readonly knownHosts: string;
  /** Two throw-away users with passwords; null where they cannot be made. */
  readonly accounts: readonly [Account, Account] | null;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/** Why the suite cannot run on this machine, or null. */
export function labMissing(): string | null {
  const missing = [SSHD, "/usr/bin/ssh", "/usr/bin/ssh-keygen"].filter((path) => !existsSync(path));
  return missing.length === 0 ? null : `${missing.join(", ")} is missing: install openssh-server`;
}

export async function openLab(): Promise<Lab> {
  const folder = makeFolder("lab");
  const root = process.getuid?.() === 0;
  const key = (name: string) => readFileSync(join(folder, name), "utf8").trim();
  for (const name of ["host", "former", "user", "stranger"]) {
    execFileSync("ssh-keygen", [
      "-q",
      "-t",
      "ed25519",
      "-N",
      "",
      "-C",
      name,
      "-f",
      join(folder, name),
    ]);
  }
  mkdirSync(join(folder, "async"), { mode: 0o777 });
  if (root) mkdirSync("/run/sshd", { recursive: true });
  const accounts = root ? ([await makeAccount(folder), await makeAccount(folder)] as const) : null;
  // Last of what can fail: an open listener would keep a failed program alive.
  const silent = await listenSilently();
  const [known, changed, unknown, second, secondUnknown, closed] = await freePorts(6);
  const servers = [
    startServer(
      folder,
      [known, changed, unknown],
      ["PasswordAuthentication no", "Subsystem sftp internal-sftp"],
    ),
    startServer(folder, [second, secondUnknown], ["PasswordAuthentication yes"]),
  ];
  const line = (port: number, name: string) => `[${ADDRESS}]:${port} ${key(`${name}.pub`)}\n`;
  const close = async (): Promise<void> => {
    await Promise.all(servers.map(({ process }) => end(process)));
    silent.close();
    for (const account of accounts ?? []) removeAccount(account);
    rmSync(folder, { recursive: true, force: true });
  };
  const atExit = (): void => {
    for (const { process } of servers) process.kill("SIGKILL");
    for (const account of accounts ?? []) removeAccount(account);
  };
  process.once("exit", atExit);
  try {
    for (const { ready } of servers) await until(READY_MS, ready);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    folder,
    address: ADDRESS,
    user: userInfo().username,
    ports: { known, changed, unknown, second, secondUnknown, silent: silent.port, closed },
    key: `${key("user")}\n`,
    strangerKey: `${key("stranger")}\n`,
    knownHosts: line(known, "host") + line(changed, "former") + line(second, "host"),
    accounts,
    [Symbol.asyncDispose]: async () => {
      process.off("exit", atExit);
      await close();
    },
  };
}

interface RunningServer {
  readonly process: ChildProcess;
  readonly ready: () => boolean;
}

function startServer(
  folder: string,
  ports: readonly number[],
  own: readonly string[],
): RunningServer {
  const config = join(folder, `sshd-${ports[0]}.conf`);
  const lines = [
    ...ports.map((port) => `Port ${port}`),
    `ListenAddress ${ADDRESS}`,
    `HostKey ${folder}/host`,
    `AuthorizedKeysFile ${folder}/user.pub`,
    "PermitRootLogin prohibit-password",
    "KbdInteractiveAuthentication no",
    "MaxStartups 200",
    "PidFile none",
    "StrictModes no",
    "UsePAM no",
    ...own,
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  // Newer servers slow down a client that failed before; this one fails on purpose.
  const lenient = ["-o", "PerSourcePenalties=no"];
  const knows = spawnSync(SSHD, ["-t", ...lenient, "-f", config]).status === 0;
  const server = spawn(SSHD, ["-D", "-e", ...(knows ? lenient : []), "-f", config], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  server.stderr?.on("data", (chunk: Buffer) => {
    if (log.length < 65_536) log += chunk.toString();
  });
  const ready = (): boolean => {
    if (server.exitCode !== null) throw new Error(`sshd ended: ${log}`);
    return ports.every((port) => log.includes(`listening on ${ADDRESS} port ${port}`));
  };
  return { process: server, ready };
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = once(server, "exit");
  server.kill("SIGKILL");
  await gone;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, ADDRESS);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  return address.port;
}

type Six = [number, number, number, number, number, number];

async function freePorts(count: 6): Promise<Six> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(servers.map(listen));
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports as Six;
}

async function listenSilently(): Promise<{ readonly port: number; readonly close: () => void }> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => open.delete(socket));
    socket.resume();
  });
  const port = await listen(server);
  return {
    port,
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

async function makeAccount(folder: string): Promise<Account> {
  const name = `aimt${randomBytes(5).toString("hex")}`;
  const password = `pw-${randomBytes(9).toString("hex")}`;
  const home = ["--create-home", "--home-dir", join(folder, name)];
  await changeAccounts("/usr/sbin/useradd", ["--shell", "/bin/sh", "--no-log-init", ...home, name]);
  await changeAccounts("/usr/sbin/chpasswd", [], `${name}:${password}\n`);
  return { name, password };
}

/** Another test may hold the lock of the account files for a moment. */
async function changeAccounts(program: string, args: readonly string[], input = ""): Promise<void> {
  await until(ACCOUNTS_MS, () => {
    const done = spawnSync(program, args, { input, stdio: ["pipe", "ignore", "ignore"] });
    return done.status === 0;
  });
}

/** At the end of a process nothing can wait, so this waits for the lock by itself. */
function removeAccount({ name }: Account): void {
  for (let tries = 0; tries < 50; tries += 1) {
    const { status } = spawnSync("/usr/sbin/userdel", ["--force", name], { stdio: "ignore" });
    // 1 and 10: a file of accounts could not be changed now.
    if (status !== 1 && status !== 10) return;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
}
