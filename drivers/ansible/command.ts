// Builds the one command line and environment of a run. Argument vectors only; names and values go by file.
import type { PrivateInput, Toolchain } from "../kit/index.ts";
import type { RunInputs } from "./schema.ts";

/** Files that the driver itself writes into the workspace. */
export const WORKSPACE = {
  config: "aim/ansible.cfg",
  limit: "aim/limit",
  variables: "aim/variables.yml",
  rolePlaybook: "aim/role.yml",
  knownHosts: "known_hosts",
} as const;

export interface CommandFacts {
  readonly inputs: RunInputs;
  readonly check: boolean;
  readonly slots: readonly string[];
}

const SLOT_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  ssh_password: ["--connection-password-file", "{path:ssh_password}"],
  become_password: ["--become-password-file", "{path:become_password}"],
  vault_password: ["--vault-id", "aim@{fd:vault_password}"],
};

/** The arguments after `ansible-playbook`, paths relative to the workspace as a reviewer sees them. */
export function playbookArguments({ inputs, check, slots }: CommandFacts): string[] {
  const argv = inputs.inventory.flatMap((path) => ["--inventory", path]);
  argv.push("--limit", `@${WORKSPACE.limit}`, "--forks", String(inputs.forks));
  if (Object.keys(inputs.variables).length > 0)
    argv.push("--extra-vars", `@${WORKSPACE.variables}`);
  if (inputs.tags.length > 0) argv.push("--tags", inputs.tags.join(","));
  if (inputs.skip_tags.length > 0) argv.push("--skip-tags", inputs.skip_tags.join(","));
  if (inputs.user !== null) argv.push("--user", inputs.user);
  if (inputs.become) argv.push("--become");
  if (check) argv.push("--check");
  for (const slot of slots) argv.push(...(SLOT_ARGUMENTS[slot] ?? []));
  argv.push("playbook" in inputs ? inputs.playbook : WORKSPACE.rolePlaybook);
  return argv;
}

/** The same arguments as the tool gets them: every path absolute, so that no name can look like an option. */
export function absoluteArguments(argv: readonly string[], workspace: string): string[] {
  const takesPath = new Set(["--inventory"]);
  return argv.map((argument, index) => {
    const before = argv[index - 1] ?? "";
    if (takesPath.has(before)) return `${workspace}/${argument}`;
    if (before === "--limit" || before === "--extra-vars")
      return `@${workspace}/${argument.slice(1)}`;
    if (argument.startsWith("aim@{fd:")) return `aim@/dev/fd/${argument.slice("aim@".length)}`;
    return index === argv.length - 1 ? `${workspace}/${argument}` : argument;
  });
}

/** Credentials in the form in which Ansible takes each without a trace on disk or command line. */
export function privateInputs(credentials: ReadonlyMap<string, Uint8Array>): PrivateInput[] {
  const inputs: PrivateInput[] = [];
  for (const slot of ["ssh_password", "become_password"]) {
    const bytes = credentials.get(slot);
    if (bytes !== undefined) inputs.push({ kind: "fifo", name: slot, bytes });
  }
  const vault = credentials.get("vault_password");
  if (vault !== undefined) inputs.push({ kind: "pipe", name: "vault_password", bytes: vault });
  const key = credentials.get("ssh_key");
  const passphrase = credentials.get("ssh_key_passphrase");
  if (key !== undefined) {
    inputs.push(
      passphrase === undefined
        ? { kind: "ssh_key", bytes: key }
        : { kind: "ssh_key", bytes: key, passphrase },
    );
  }
  return inputs;
}

/** Environment of every Ansible process: pinned, so that nothing of the machine or the project leaks in. */
export function ansibleEnvironment(
  toolchain: Toolchain,
  fromConfig: Readonly<Record<string, string>>,
): Record<string, string> {
  const at = (path: string) => `${toolchain.workspace}/${path}`;
  return {
    ANSIBLE_PIPELINING: "1",
    ANSIBLE_TIMEOUT: "10",
    ANSIBLE_GATHERING: "implicit",
    ...fromConfig,
    ANSIBLE_CONFIG: at(WORKSPACE.config),
    ANSIBLE_HOME: "/tmp/ansible",
    ANSIBLE_LOCAL_TEMP: "/tmp/ansible/tmp",
    ANSIBLE_SSH_CONTROL_PATH_DIR: "/tmp/ansible/cp",
    ANSIBLE_ROLES_PATH: at("project/roles"),
    ANSIBLE_COLLECTIONS_PATH: at("project/collections"),
    ANSIBLE_CACHE_PLUGIN: "memory",
    ANSIBLE_RETRY_FILES_ENABLED: "0",
    ANSIBLE_VERBOSITY: "0",
    ANSIBLE_DEBUG: "0",
    ANSIBLE_DIFF_ALWAYS: "0",
    ANSIBLE_KEEP_REMOTE_FILES: "0",
    ANSIBLE_DISPLAY_TRACEBACK: "never",
    ANSIBLE_NOCOLOR: "1",
    ANSIBLE_ENABLE_TASK_DEBUGGER: "0",
    ANSIBLE_HOST_KEY_CHECKING: "1",
    ANSIBLE_SSH_PASSWORD_MECHANISM: "sshpass",
    ANSIBLE_INVENTORY_ENABLED: "host_list,yaml,ini",
    ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED: "1",
    ANSIBLE_INVENTORY_UNPARSED_FAILED: "1",
    LC_ALL: "C.UTF-8",
    LANG: "C.UTF-8",
    PATH: "/usr/bin:/bin",
    PYTHONDONTWRITEBYTECODE: "1",
  };
}

/**
 * Variables as YAML: JSON in which every text that Ansible could take for a template is marked `!unsafe`,
 * so that a caller's value is never evaluated.
 */
export function variablesYaml(value: unknown): string {
  if (typeof value === "string") {
    const text = JSON.stringify(value);
    return /\{[{%#]/.test(value) ? `!unsafe ${text}` : text;
  }
  if (Array.isArray(value)) return `[${value.map(variablesYaml).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(
      ([key, item]) => `${JSON.stringify(key)}: ${variablesYaml(item)}`,
    );
    return `{${members.join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** A playbook that applies one role. The comment makes Ansible read it as YAML, which keeps line numbers. */
export function rolePlaybook(role: string, gatherFacts: boolean): string {
  const play = {
    name: "Apply the role",
    hosts: "all",
    gather_facts: gatherFacts,
    roles: [{ role }],
  };
  return `# one role
${JSON.stringify([play])}
`;
}
