// Which slots a run fills and from where: known before the review, asked for only after the confirmation.
import type { Credentials, CredentialSlot } from "@aim/contract";
import { EXIT } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import {
  isEncryptedKey,
  PROMPTS,
  readCredentialsDescriptor,
  readPrivateKey,
  readVaultPassword,
  requirePrivateDescriptor,
} from "./credentials.ts";
import { askSecret, isTerminal } from "./terminal-input.ts";

export interface CredentialFlags {
  readonly askPass?: boolean;
  readonly askBecomePass?: boolean;
  readonly privateKey?: string;
  readonly vaultPasswordFile?: string;
  readonly askVaultPass?: boolean;
  readonly credentialsFd?: string;
}

export interface CredentialPlan {
  /** Every slot that will be filled. */
  readonly slots: readonly string[];
  readonly known: Credentials;
  readonly prompts: readonly CredentialSlot[];
}

/** Reads files and the descriptor now. Throws CliFault 64 for slots named twice and prompts without a terminal. */
export async function planCredentials(flags: CredentialFlags): Promise<CredentialPlan> {
  if (flags.askVaultPass === true && flags.vaultPasswordFile !== undefined) {
    throw new CliFault(
      EXIT.usage,
      "--ask-vault-pass and --vault-password-file exclude each other.",
    );
  }
  const given = await givenCredentials(flags);
  const files = fileCredentials(flags);
  const prompts = wantedPrompts(flags);
  const key = files["ssh_key"] ?? given["ssh_key"];
  const passphraseMissing =
    key !== undefined && isEncryptedKey(key) && !("ssh_key_passphrase" in given);
  if (passphraseMissing) prompts.push("ssh_key_passphrase");
  const slots = [...Object.keys(given), ...Object.keys(files), ...prompts];
  if (new Set(slots).size !== slots.length) {
    throw new CliFault(EXIT.usage, "A credential comes from two places. Name each one once.");
  }
  if (prompts.length > 0 && !isTerminal()) {
    throw new CliFault(
      EXIT.usage,
      "A credential must be typed and this is not a terminal. Use --credentials-fd.",
    );
  }
  return { slots, known: { ...given, ...files }, prompts };
}

/** Asks for what is still missing and gives all credentials of the run. */
export async function gatherCredentials(plan: CredentialPlan): Promise<Credentials> {
  const credentials: Record<string, string> = { ...plan.known };
  for (const slot of plan.prompts) credentials[slot] = await askSecret(PROMPTS[slot]);
  return credentials;
}

async function givenCredentials(flags: CredentialFlags): Promise<Credentials> {
  if (flags.credentialsFd === undefined) return {};
  return readCredentialsDescriptor(requirePrivateDescriptor(flags.credentialsFd));
}

function fileCredentials(flags: CredentialFlags): Credentials {
  const credentials: Record<string, string> = {};
  if (flags.privateKey !== undefined) credentials["ssh_key"] = readPrivateKey(flags.privateKey);
  if (flags.vaultPasswordFile !== undefined) {
    credentials["vault_password"] = readVaultPassword(flags.vaultPasswordFile);
  }
  return credentials;
}

function wantedPrompts(flags: CredentialFlags): CredentialSlot[] {
  const prompts: CredentialSlot[] = [];
  if (flags.askPass === true) prompts.push("ssh_password");
  if (flags.askBecomePass === true) prompts.push("become_password");
  if (flags.askVaultPass === true) prompts.push("vault_password");
  return prompts;
}
