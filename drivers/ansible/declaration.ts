// The four Ansible job types as data. Browser-safe: clients build forms and help from it, the plane checks specs by it.
import type { JobTypeDeclaration } from "../kit/index.ts";
import { AnsibleEvidenceSchema } from "./evidence.ts";
import {
  InventoryInputsSchema,
  PlaybookInputsSchema,
  RoleInputsSchema,
  type RunInputs,
} from "./schema.ts";

const run = {
  evidenceSchema: AnsibleEvidenceSchema,
  dryRun: false,
  requirements: (inputs: unknown) => ({
    executables: ["ansible-playbook", "ssh", "ssh-agent", "sshpass"],
    credentialSlots: (inputs as RunInputs).credential_slots,
  }),
  policy: () => [],
} as const;

export const playbookRun: JobTypeDeclaration = {
  ...run,
  jobType: "ansible.playbook.run",
  title: "Run a playbook",
  inputsSchema: PlaybookInputsSchema,
  effect: "change",
  retryAfterLoss: "ask",
};

export const checkModeRun: JobTypeDeclaration = {
  ...run,
  jobType: "ansible.check_mode.run",
  title: "Predict what a playbook would change",
  inputsSchema: PlaybookInputsSchema,
  effect: "none",
  dryRun: true,
  retryAfterLoss: "ask",
};

export const roleRun: JobTypeDeclaration = {
  ...run,
  jobType: "ansible.role.run",
  title: "Apply a role",
  inputsSchema: RoleInputsSchema,
  effect: "change",
  retryAfterLoss: "ask",
};

export const inventoryValidate: JobTypeDeclaration = {
  jobType: "ansible.inventory.validate",
  title: "Validate an inventory",
  inputsSchema: InventoryInputsSchema,
  evidenceSchema: AnsibleEvidenceSchema,
  effect: "none",
  dryRun: true,
  retryAfterLoss: "safe",
  requirements: () => ({ executables: ["ansible-inventory"], credentialSlots: [] }),
  policy: () => [],
};
