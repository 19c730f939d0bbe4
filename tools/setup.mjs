// Sets up everything that building, running and testing need. Plain JavaScript without dependencies: it runs on Node 20.
// Every step says what it does and how long it took; a step whose result is already there is quick.
// usage: node tools/setup.mjs [--dev] [SCRIPT ...], the scripts are run afterwards on Node 24.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const HOME = join(ROOT, ".aim");
const NODE_MIN = [24, 15];
const PYTHON_MIN = [3, 11];
const REQUIREMENTS = join(ROOT, "drivers/ansible/requirements.txt");
const DEV_REQUIREMENTS = join(ROOT, "drivers/ansible/requirements-dev.txt");
const SYSTEM_PROGRAMS = {
  bwrap: "bubblewrap",
  ssh: "openssh-client",
  "ssh-agent": "openssh-client",
  sshpass: "sshpass",
  sshd: "openssh-server",
};

/** Tests and checks need more than a run does. */
const forDevelopment = process.argv.includes("--dev");

class SetupError extends Error {}

function step(name, work) {
  const start = performance.now();
  const did = work();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (did !== false) console.error(`setup: ${name} (${seconds} s)`);
}

function run(program, args, options = {}) {
  const done = spawnSync(program, args, { cwd: ROOT, encoding: "utf8", ...options });
  if (done.status !== 0) {
    const output = `${done.stdout ?? ""}${done.stderr ?? ""}`.split("\n").slice(0, 20).join("\n");
    throw new SetupError(`${program} ${args.join(" ")} failed:\n${output || done.error?.message}`);
  }
  return done.stdout;
}

/** True when the stamp says that this step was done for exactly this content. */
function isCurrent(name, content) {
  const stamp = join(HOME, `${name}.stamp`);
  const digest = createHash("sha256").update(content).digest("hex");
  const current = existsSync(stamp) && readFileSync(stamp, "utf8") === digest;
  return { current, done: () => writeFileSync(stamp, digest) };
}

function installPackages() {
  const lock = readFileSync(join(ROOT, "package-lock.json"));
  const { current, done } = isCurrent("packages", lock);
  if (current && existsSync(join(ROOT, "node_modules/typebox"))) return false;
  run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  done();
  return true;
}

function atLeast(version, minimum) {
  const parts = version.replace(/^v/, "").split(".").map(Number);
  return parts[0] > minimum[0] || (parts[0] === minimum[0] && parts[1] >= minimum[1]);
}

/** The Node that npm brought along, or else the machine's. */
function ownNode() {
  const own = join(ROOT, "node_modules/.bin/node");
  return existsSync(own) ? own : process.execPath;
}

function checkNode() {
  const version = run(ownNode(), ["--version"]).trim();
  if (!atLeast(version, NODE_MIN)) {
    throw new SetupError(
      `Node ${NODE_MIN.join(".")} or newer is needed and npm brought none for this machine. Install Node 24.`,
    );
  }
  return false;
}

function onPath(program) {
  const places = [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/sbin"];
  return places.some((place) => place !== "" && existsSync(join(place, program)));
}

function installSystemPrograms() {
  const missing = Object.entries(SYSTEM_PROGRAMS).filter(([program]) => !onPath(program));
  const packages = new Set(missing.map(([, name]) => name));
  if (!pythonMakesEnvironments()) packages.add("python3-venv");
  // Its programs lie in a folder of their own, on no path.
  if (forDevelopment && !existsSync("/usr/lib/postgresql")) packages.add("postgresql");
  if (packages.size === 0) return false;
  const list = [...packages].join(" ");
  if (process.getuid() !== 0 || !onPath("apt-get")) {
    throw new SetupError(
      `these packages are missing: ${list}. Install them with your package manager and run this again.`,
    );
  }
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  run("apt-get", ["update", "-qq"], { env });
  run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages], { env });
  return true;
}

/** The system's own interpreter first: a sandbox can read it, and no version manager stands between. */
function findPython() {
  for (const python of ["/usr/bin/python3", "/usr/local/bin/python3"]) {
    if (!existsSync(python)) continue;
    const version = run(python, ["-c", "import platform; print(platform.python_version())"]).trim();
    if (atLeast(version, PYTHON_MIN)) return python;
  }
  throw new SetupError(`Python ${PYTHON_MIN.join(".")} or newer is needed as /usr/bin/python3.`);
}

function pythonMakesEnvironments() {
  return spawnSync(findPython(), ["-c", "import ensurepip, venv"]).status === 0;
}

/** A sandbox of a root runner has another uid: it must be able to walk to the environment. */
function environmentPlace() {
  let folder = ROOT;
  while (process.getuid() === 0 && folder !== "/") {
    if ((statSync(folder).mode & 0o001) === 0) {
      const name = createHash("sha256").update(ROOT).digest("hex").slice(0, 12);
      return `/var/lib/aim/venv-${name}`;
    }
    folder = dirname(folder);
  }
  return join(HOME, "venv");
}

/** A virtual environment at `venv` with exactly the pinned packages of `requirements`. */
function makeEnvironment(stamp, venv, requirements) {
  const python = findPython();
  const { current, done } = isCurrent(stamp, `${readFileSync(requirements)} ${python} ${venv}`);
  if (current && existsSync(join(venv, "bin/python"))) return false;
  rmSync(venv, { recursive: true, force: true });
  mkdirSync(dirname(venv), { recursive: true, mode: 0o755 });
  run(python, ["-m", "venv", venv]);
  const pip = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet"];
  const pinned = ["--require-hashes", "--only-binary", ":all:", "-r", requirements];
  run(join(venv, "bin/python"), [...pip, ...pinned]);
  // Tools may not write there later, so the bytecode is made now.
  run(join(venv, "bin/python"), ["-m", "compileall", "-q", "-j", "0", join(venv, "lib")]);
  done();
  return true;
}

function makeToolchain() {
  const venv = environmentPlace();
  const made = makeEnvironment("toolchain", venv, REQUIREMENTS);
  writeFileSync(
    join(HOME, "toolchain.json"),
    `${JSON.stringify({ python: findPython(), venv })}\n`,
  );
  return made;
}

/** Runs a script of the project on the right Node. Ends this process when it fails. */
function runScript(script) {
  const env = { ...process.env, PATH: `${dirname(ownNode())}:${process.env.PATH}` };
  const done = spawnSync(ownNode(), [script], { cwd: ROOT, env, stdio: "inherit" });
  if (done.status !== 0) process.exit(done.status ?? 1);
}

try {
  mkdirSync(HOME, { recursive: true });
  step("npm packages", installPackages);
  step("node", checkNode);
  step("system programs", installSystemPrograms);
  step("ansible-core in an environment of its own", makeToolchain);
  if (forDevelopment) {
    step("Python tools for checks and tests", () =>
      makeEnvironment("dev", join(HOME, "dev-venv"), DEV_REQUIREMENTS),
    );
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(`setup: ${error.message}`);
  process.exit(1);
}
for (const script of process.argv.slice(2).filter((word) => !word.startsWith("--")))
  runScript(script);
