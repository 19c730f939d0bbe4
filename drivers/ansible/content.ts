// What lies in a reviewed project: its YAML to analyse, its code that Ansible loads by itself, its settings.
import type { Finding } from "@aim/contract";
import { finding, type SourceFile } from "./change-analysis.ts";

/** Folders from which Ansible loads code without being told to. */
const PLUGIN_FOLDERS = new Set([
  "action_plugins",
  "become_plugins",
  "cache_plugins",
  "callback_plugins",
  "cliconf_plugins",
  "connection_plugins",
  "doc_fragments",
  "filter_plugins",
  "httpapi_plugins",
  "inventory_plugins",
  "library",
  "lookup_plugins",
  "module_utils",
  "modules",
  "netconf_plugins",
  "plugins",
  "shell_plugins",
  "strategy_plugins",
  "terminal_plugins",
  "test_plugins",
  "vars_plugins",
]);

const DATA_FOLDERS = new Set([
  "group_vars",
  "host_vars",
  "vars",
  "defaults",
  "meta",
  "files",
  "templates",
]);

/** Whether a file may hold tasks or plays. */
export function mayHoldTasks(path: string): boolean {
  return /\.(?:ya?ml|json)$/.test(path) && !path.split("/").some((part) => DATA_FOLDERS.has(part));
}

/** One finding for each file that Ansible would load as code, or that AIM keeps it from loading. */
export function codeFindings(paths: Iterable<string>): Finding[] {
  const findings: Finding[] = [];
  for (const path of paths) {
    const folders = path.split("/").slice(0, -1);
    if (!folders.some((folder) => PLUGIN_FOLDERS.has(folder))) continue;
    const callback = folders.includes("callback_plugins") || /\/plugins\/callback\//.test(path);
    findings.push(finding(callback ? "code_plugin_ignored" : "code_plugin", path));
  }
  return findings;
}

// A setting of ansible.cfg is taken over only if it changes how a run goes, not what code or which files it reads.
const SETTINGS: Readonly<Record<string, string>> = {
  "defaults.forks": "ANSIBLE_FORKS",
  "defaults.gathering": "ANSIBLE_GATHERING",
  "defaults.hash_behaviour": "ANSIBLE_HASH_BEHAVIOUR",
  "defaults.interpreter_python": "ANSIBLE_PYTHON_INTERPRETER",
  "defaults.internal_poll_interval": "ANSIBLE_POLL_INTERVAL",
  "defaults.max_diff_size": "ANSIBLE_MAX_DIFF_SIZE",
  "defaults.poll_interval": "ANSIBLE_POLL_INTERVAL",
  "defaults.private_role_vars": "ANSIBLE_PRIVATE_ROLE_VARS",
  "defaults.remote_port": "ANSIBLE_REMOTE_PORT",
  "defaults.remote_user": "ANSIBLE_REMOTE_USER",
  "defaults.timeout": "ANSIBLE_TIMEOUT",
  "defaults.task_timeout": "ANSIBLE_TASK_TIMEOUT",
  "defaults.force_handlers": "ANSIBLE_FORCE_HANDLERS",
  "privilege_escalation.become": "ANSIBLE_BECOME",
  "privilege_escalation.become_method": "ANSIBLE_BECOME_METHOD",
  "privilege_escalation.become_user": "ANSIBLE_BECOME_USER",
  "ssh_connection.pipelining": "ANSIBLE_PIPELINING",
  "ssh_connection.retries": "ANSIBLE_SSH_RETRIES",
  "ssh_connection.transfer_method": "ANSIBLE_SSH_TRANSFER_METHOD",
};

export interface ReducedConfig {
  readonly env: Readonly<Record<string, string>>;
  readonly findings: readonly Finding[];
}

/** Reduces an ansible.cfg to allowed settings as environment variables; names what was dropped. */
export function reduceConfig(file: SourceFile | null): ReducedConfig {
  const env: Record<string, string> = {};
  const findings: Finding[] = [];
  for (const { line, section, key, value } of settingsIn(file?.text ?? "")) {
    const name = SETTINGS[`${section}.${key}`];
    if (name !== undefined && PLAIN_VALUE.test(value)) env[name] = value;
    else findings.push(finding("config_dropped", `${file?.path ?? ""}:${line}`));
  }
  return { env, findings };
}

const PLAIN_VALUE = /^[A-Za-z0-9_./-]{1,255}$/;

interface Setting {
  readonly line: number;
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

function settingsIn(text: string): Setting[] {
  const settings: Setting[] = [];
  let section = "";
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.replace(/(?:^|\s)[#;].*$/, "").trim();
    section = /^\[([^\]]+)\]$/.exec(line)?.[1]?.trim() ?? section;
    const [, key, value = ""] = /^([A-Za-z_]+)\s*[=:]\s*(.*)$/.exec(line) ?? [];
    if (key !== undefined) settings.push({ line: index + 1, section, key, value });
  }
  return settings;
}
