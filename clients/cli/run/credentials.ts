// Credentials from a private descriptor, a file or the keyboard. Never from arguments or the environment.
import { createReadStream, readFileSync, statSync } from "node:fs";
import { AimError, parseStrict, type Credentials, type CredentialSlot } from "@aim/contract";
import { EXIT } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { visible } from "../render/escape.ts";

/** 32 slots of 64 KiB, escaped: more than that is no set of credentials. */
const DESCRIPTOR_BYTES_MAX = 8 * 1024 * 1024;
const SLOT = /^[a-z][a-z0-9_]{0,62}$/;
const VALUE_LENGTH_MAX = 65_536;

/**
 * Reads one JSON object from slot to text from an inherited descriptor, once, and closes it.
 * Throws AimError `credentials_unreadable`; the fault never quotes what was read.
 */
export async function readCredentialsDescriptor(descriptor: number): Promise<Credentials> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of createReadStream("", { fd: descriptor, autoClose: true })) {
      if (!Buffer.isBuffer(piece)) continue;
      length += piece.length;
      if (length > DESCRIPTOR_BYTES_MAX) throw new AimError("credentials_unreadable");
      pieces.push(piece);
    }
    return parseCredentials(
      new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces)),
    );
  } catch {
    // Parsers quote their input in their messages, so no cause is kept.
    throw new AimError("credentials_unreadable");
  }
}

function parseCredentials(text: string): Credentials {
  const value = parseStrict(text);
  const credentials: Record<string, string> = {};
  for (const [slot, secret] of Object.entries(value)) {
    const fits =
      typeof secret === "string" && secret.length > 0 && secret.length <= VALUE_LENGTH_MAX;
    if (!SLOT.test(slot) || !fits) throw new AimError("credentials_unreadable");
    credentials[slot] = secret;
  }
  return credentials;
}

/** Descriptors 0 to 2 are the terminal's; a secret has no place there. */
export function requirePrivateDescriptor(text: string): number {
  const descriptor = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (descriptor < 3) {
    throw new CliFault(
      EXIT.usage,
      "--credentials-fd needs the number of an inherited descriptor, 3 or higher.",
    );
  }
  return descriptor;
}

/** The text of a private key file. */
export function readPrivateKey(path: string): string {
  const key = readSecretFile(path, "The private key file");
  if (!key.includes("PRIVATE KEY")) {
    throw new CliFault(EXIT.usage, `The private key file ${visible(path)} holds no private key.`);
  }
  return key.endsWith("\n") ? key : `${key}\n`;
}

/** The password in a vault password file, without white space around it, as Ansible reads it. */
export function readVaultPassword(path: string): string {
  if (isExecutable(path)) {
    throw new CliFault(
      EXIT.usage,
      `The vault password file ${visible(path)} is a program. AIM does not run it: pass its output with --credentials-fd.`,
    );
  }
  const password = readSecretFile(path, "The vault password file").trim();
  if (password === "") {
    throw new CliFault(EXIT.usage, `The vault password file ${visible(path)} is empty.`);
  }
  return password;
}

function readSecretFile(path: string, what: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new CliFault(EXIT.usage, `${what} ${visible(path)} cannot be read.`);
  }
}

function isExecutable(path: string): boolean {
  try {
    return (statSync(path).mode & 0o111) !== 0;
  } catch {
    return false;
  }
}

/** Whether a private key is protected by a passphrase, by its container alone. */
export function isEncryptedKey(key: string): boolean {
  if (key.includes("ENCRYPTED")) return true;
  const body = /-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END/.exec(key)?.[1];
  if (body === undefined) return false;
  // "openssh-key-v1\0", then the cipher's name with its length in four bytes before it.
  const bytes = Buffer.from(body, "base64");
  return bytes.subarray(15, 23).toString("latin1") !== "\0\0\0\u0004none";
}

export const PROMPTS: Readonly<Record<CredentialSlot, string>> = {
  ssh_password: "SSH password: ",
  become_password: "BECOME password: ",
  ssh_key: "Private key: ",
  ssh_key_passphrase: "Passphrase of the private key: ",
  vault_password: "Vault password: ",
};
