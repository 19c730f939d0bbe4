import { generateKeyPairSync } from "node:crypto";
import { chmodSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { planCredentials } from "./credential-plan.ts";
import {
  isEncryptedKey,
  readCredentialsDescriptor,
  requirePrivateDescriptor,
} from "./credentials.ts";

const folder = mkdtempSync(join(tmpdir(), "aim-credentials-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

const descriptorOf = (text: string) => openSync(file("input", text), "r");

test("a descriptor is read once and closed", async () => {
  const descriptor = descriptorOf('{"ssh_password":"hunter2"}');
  expect(await readCredentialsDescriptor(descriptor)).toEqual({ ssh_password: "hunter2" });
  expect(() => readSync(descriptor, Buffer.alloc(1))).toThrow("EBADF");
});

test.each([
  "hunter2",
  '{"ssh_password":hunter2}',
  '["hunter2"]',
  '{"ssh_password":""}',
  '{"ssh_password":{"hunter2":1}}',
  '{"Hunter2":"x"}',
])("%j is refused and not repeated", async (text) => {
  const fault: unknown = await readCredentialsDescriptor(descriptorOf(text)).catch(
    (error: unknown) => error,
  );
  expect(fault).toMatchObject({ name: "AimError", code: "credentials_unreadable" });
  expect((fault as Error).cause).toBeUndefined();
  expect(String((fault as Error).stack)).not.toContain("unter2");
});

test.each(["0", "2", "-1", "x", "3.5", ""])("descriptor %j is refused", (text) => {
  expect(() => requirePrivateDescriptor(text)).toThrow("3 or higher");
});

test("a protected key is told from an open one", () => {
  const make = (cipher?: string) =>
    generateKeyPairSync("rsa", {
      modulusLength: 1024,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: {
        type: "pkcs8",
        format: "pem",
        ...(cipher === undefined ? {} : { cipher, passphrase: "x" }),
      },
    }).privateKey;
  expect(isEncryptedKey(make())).toBe(false);
  expect(isEncryptedKey(make("aes-256-cbc"))).toBe(true);
  const openssh = (cipher: string) => {
    const head = Buffer.from(
      `openssh-key-v1\0\0\0\0${String.fromCharCode(cipher.length)}${cipher}\0\0\0\u0004none`,
    );
    return `-----BEGIN OPENSSH PRIVATE KEY-----\n${head.toString("base64")}\n-----END OPENSSH PRIVATE KEY-----\n`;
  };
  expect(isEncryptedKey(openssh("none"))).toBe(false);
  expect(isEncryptedKey(openssh("aes256-ctr"))).toBe(true);
});

test("a plan joins descriptor and files and names each slot once", async () => {
  const plan = await planCredentials({
    credentialsFd: String(descriptorOf('{"become_password":"b"}')),
    vaultPasswordFile: file("vault", "  secret \n"),
  });
  expect(plan).toEqual({
    slots: ["become_password", "vault_password"],
    known: { become_password: "b", vault_password: "secret" },
    prompts: [],
  });
});

test("a slot from two places is refused", async () => {
  const twice = planCredentials({
    credentialsFd: String(descriptorOf('{"vault_password":"b"}')),
    vaultPasswordFile: file("vault", "secret"),
  });
  await expect(twice).rejects.toThrow("two places");
});

test("a vault password program is never run", async () => {
  const program = file("program", "#!/bin/sh\necho secret\n");
  chmodSync(program, 0o700);
  await expect(planCredentials({ vaultPasswordFile: program })).rejects.toThrow("is a program");
});
