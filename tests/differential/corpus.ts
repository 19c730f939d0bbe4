// Fetches ansible-core's own integration targets and lays them out in a folder in which they can run.
import { createHash } from "node:crypto";
import { execFile } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const HERE = fileURLToPath(new URL(".", import.meta.url));
const CALLBACK = join(ROOT, "drivers/ansible/callback");
const REQUIREMENTS = join(HERE, "requirements.txt");
const SDIST = "ansible_core-2.19.11.tar.gz";

export interface Corpus {
  readonly home: string;
  readonly targets: string;
  /** Environment of every target. */
  readonly env: Readonly<Record<string, string>>;
  /** Hex SHA-256 of the callback's sources, as `hello` tells it. */
  readonly digest: string;
  readonly remove: () => void;
}

/** The sdist in the cache, fetched from the package index when it is not there or not the pinned one. */
async function fetchSdist(venv: string): Promise<string> {
  const cache = join(ROOT, ".aim/cache");
  const place = join(cache, SDIST);
  if (isPinned(place)) return place;
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "download-"));
  try {
    const pip = ["-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"];
    const which = [
      "--no-binary",
      "ansible-core",
      "--require-hashes",
      "-r",
      REQUIREMENTS,
      "-d",
      folder,
    ];
    await run(join(venv, "bin/python"), [...pip, ...which], { timeout: 180_000 });
    renameSync(join(folder, SDIST), place);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return place;
}

function isPinned(place: string): boolean {
  if (!existsSync(place)) return false;
  const digest = createHash("sha256").update(readFileSync(place)).digest("hex");
  return readFileSync(REQUIREMENTS, "utf8").includes(`sha256:${digest}`);
}

/** A copy of the callback's sources, so that every run of the test sees the same. Answers their digest. */
function stageCallback(from: string, sources: string, plugins: string): string {
  mkdirSync(sources);
  mkdirSync(plugins);
  const digest = createHash("sha256");
  const names = readdirSync(from).filter((name) => /^aim_\w+\.py$/.test(name));
  for (const name of names.toSorted()) {
    copyFileSync(join(from, name), join(sources, name));
    digest.update(readFileSync(join(sources, name)));
  }
  symlinkSync(join(sources, "aim_events.py"), join(plugins, "aim_events.py"));
  return digest.digest("hex");
}

export async function layOut(): Promise<Corpus> {
  const toolchain = readFileSync(join(ROOT, ".aim/toolchain.json"), "utf8");
  const { venv } = JSON.parse(toolchain) as { readonly venv: string };
  const sdist = await fetchSdist(venv);
  const home = mkdtempSync(join(tmpdir(), "aim-differential-"));
  const at = (name: string): string => join(home, name);
  const digest = stageCallback(CALLBACK, at("callback"), at("plugins"));
  for (const name of ["bin", "home", "records", "tmp"]) mkdirSync(at(name));
  copyFileSync(join(HERE, "ansible-playbook"), at("bin/ansible-playbook"));
  chmodSync(at("bin/ansible-playbook"), 0o755);
  const member = `${SDIST.slice(0, -".tar.gz".length)}/test/integration`;
  await run("tar", ["-xzf", sdist, "-C", home, "--strip-components=2", member]);
  writeFileSync(
    at("integration/inventory"),
    `testhost ansible_connection=local ansible_pipelining=yes ansible_python_interpreter=${venv}/bin/python\n`,
  );
  return {
    home,
    targets: at("integration/targets"),
    digest,
    // Nothing of this process's own environment: a setting of Ansible there would change what targets do.
    env: {
      PATH: `${at("bin")}:${venv}/bin:/usr/local/bin:/usr/bin:/bin`,
      HOME: at("home"),
      TMPDIR: at("tmp"),
      LC_ALL: "C.UTF-8",
      LANG: "C.UTF-8",
      // A home that is not the user's makes wrapper and status of an async task expand `~` differently.
      ANSIBLE_ASYNC_DIR: at("async"),
      AIM_VENV: venv,
      AIM_PLUGINS: at("plugins"),
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}
