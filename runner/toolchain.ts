// The runner's own tools as a sandbox sees them: the Python environment that set-up made and the callback's sources.
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Toolchain } from "@aim/drivers/kit";

const CALLBACK = fileURLToPath(new URL("../drivers/ansible/callback", import.meta.url));
const INSIDE = {
  venv: "/opt/aim/venv",
  callback: "/opt/aim/callback",
  workspace: "/work",
} as const;

/** What set-up wrote down: the interpreter below /usr and the environment that holds ansible-core. */
interface ToolchainFile {
  readonly python: string;
  readonly venv: string;
}

export interface RunnerToolchain {
  readonly inside: Toolchain;
  /** Interpreter of the sandbox's own init. */
  readonly python: string;
  readonly mounts: readonly { readonly from: string; readonly to: string }[];
  readonly ansibleCore: string;
  readonly pythonVersion: string;
}

export class ToolchainMissing extends Error {
  override readonly name = "ToolchainMissing";
}

/**
 * Reads the toolchain file and copies the callback's sources to `stageDir`, where a sandbox of any uid can read them.
 * Throws ToolchainMissing when set-up has not run.
 */
export function loadToolchain(file: string, stageDir: string): RunnerToolchain {
  const { python, venv } = readToolchainFile(file);
  const sources = readdirSync(CALLBACK)
    .filter((name) => /^aim_\w+\.py$/.test(name))
    .toSorted();
  rmSync(stageDir, { recursive: true, force: true });
  mkdirSync(stageDir, { recursive: true, mode: 0o755 });
  chmodSync(stageDir, 0o755);
  const digest = createHash("sha256");
  for (const name of sources) {
    const staged = join(stageDir, name);
    copyFileSync(join(CALLBACK, name), staged);
    chmodSync(staged, 0o644);
    digest.update(readFileSync(staged));
  }
  return {
    python,
    mounts: [
      { from: venv, to: INSIDE.venv },
      { from: stageDir, to: INSIDE.callback },
    ],
    inside: {
      python: `${INSIDE.venv}/bin/python`,
      callbackDir: INSIDE.callback,
      callbackDigest: digest.digest("hex"),
      workspace: INSIDE.workspace,
    },
    ...installedVersions(venv),
  };
}

function readToolchainFile(file: string): ToolchainFile {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as ToolchainFile;
  } catch (error) {
    throw new ToolchainMissing(`set-up has not run: ${file} cannot be read`, { cause: error });
  }
}

/** Reads what is installed instead of trusting what was meant to be. */
function installedVersions(venv: string): { ansibleCore: string; pythonVersion: string } {
  const [python = ""] = readdirSync(join(venv, "lib")).filter((name) =>
    name.startsWith("python3."),
  );
  const packages = readdirSync(join(venv, "lib", python, "site-packages"));
  const found = packages.map((name) => /^ansible_core-(.+)\.dist-info$/.exec(name)?.[1]);
  const ansibleCore = found.find((version) => version !== undefined);
  if (ansibleCore === undefined) throw new ToolchainMissing("ansible-core is not installed");
  const config = readFileSync(join(venv, "pyvenv.cfg"), "utf8");
  const pythonVersion = /^version\s*=\s*(\S+)/m.exec(config)?.[1] ?? python.slice("python".length);
  return { ansibleCore, pythonVersion };
}
