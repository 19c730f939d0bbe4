// Vaulted variables, made by Ansible's own ansible-vault.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder, writeTree } from "../harness/plane.ts";

const TOOLCHAIN = fileURLToPath(new URL("../../.aim/toolchain.json", import.meta.url));

/** YAML that sets one variable to a vaulted value. */
export function encryptedVariable(name: string, value: string, password: string): string {
  const folder = makeFolder("vault");
  try {
    writeTree(folder, { password: `${password}\n` });
    const { venv } = JSON.parse(readFileSync(TOOLCHAIN, "utf8")) as { venv: string };
    const argv = [
      "encrypt_string",
      "--vault-password-file",
      join(folder, "password"),
      "--stdin-name",
      name,
    ];
    return execFileSync(join(venv, "bin/ansible-vault"), argv, {
      input: value,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "ignore"],
      env: { HOME: folder, PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8", ANSIBLE_LOCAL_TEMP: folder },
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
