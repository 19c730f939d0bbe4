// Where the benchmarks run: the product's tool chain, an environment with the peers, and a folder with the work.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ansibleEnvironment } from "../drivers/ansible/command.ts";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));
const REQUIREMENTS = join(ROOT, "bench/requirements.txt");
const CALLBACK = join(ROOT, "drivers/ansible/callback");

export interface Place {
  readonly home: string;
  readonly python: string;
  readonly bin: string;
  /** Programs of the environment that holds the peers. */
  readonly peers: string;
  readonly peersPython: string;
  readonly callbackDir: string;
  readonly callbackDigest: string;
  readonly env: Readonly<Record<string, string>>;
  readonly remove: () => void;
}

/** Makes what is not there yet. Only the benchmarks install the peers. */
export function makePlace(): Place {
  const toolchain = readFileSync(join(ROOT, ".aim/toolchain.json"), "utf8");
  const { python, venv } = JSON.parse(toolchain) as { python: string; venv: string };
  const peers = join(ROOT, ".aim/bench-venv");
  installPeers(python, peers);
  const home = mkdtempSync(join(tmpdir(), "aim-bench-"));
  const callbackDir = join(home, "callback");
  for (const name of ["aim", "home", "callback"]) mkdirSync(join(home, name));
  writeFileSync(join(home, "aim/ansible.cfg"), "[defaults]\n");
  const digest = createHash("sha256");
  const sources = readdirSync(CALLBACK).filter((name) => /^aim_\w+\.py$/.test(name));
  for (const name of sources.toSorted()) {
    copyFileSync(join(CALLBACK, name), join(callbackDir, name));
    digest.update(readFileSync(join(callbackDir, name)));
  }
  const callbackDigest = digest.digest("hex");
  const tools = { python: join(venv, "bin/python"), callbackDir, callbackDigest, workspace: home };
  return {
    home,
    python: tools.python,
    bin: join(venv, "bin"),
    peers: join(peers, "bin"),
    peersPython: join(peers, "bin/python"),
    callbackDir,
    callbackDigest,
    // The same for every variant, so that only what is compared differs.
    env: {
      ...ansibleEnvironment(tools, {}),
      HOME: join(home, "home"),
      ANSIBLE_HOME: join(home, "home/ansible"),
      ANSIBLE_LOCAL_TEMP: join(home, "home/ansible/tmp"),
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

function installPeers(python: string, venv: string): void {
  const stamp = join(venv, "requirements.sha256");
  const digest = createHash("sha256").update(readFileSync(REQUIREMENTS)).digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  console.error("bench: installing ARA and ansible-runner into an environment of their own");
  rmSync(venv, { recursive: true, force: true });
  execFileSync(python, ["-m", "venv", venv]);
  const pip = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet"];
  const which = ["--require-hashes", "--only-binary", ":all:", "-r", REQUIREMENTS];
  execFileSync(join(venv, "bin/python"), [...pip, ...which], { stdio: "inherit" });
  // As set-up does for the product's own environment.
  const compile = ["-m", "compileall", "-q", "-j", "0", join(venv, "lib")];
  spawnSync(join(venv, "bin/python"), compile);
  writeFileSync(stamp, digest);
}
