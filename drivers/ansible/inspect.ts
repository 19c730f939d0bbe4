// Looks at reviewed content without contacting anything: who would be reached, what would run, what deserves a look.
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import type { Finding, NetworkRule } from "@aim/contract";
import type { Inspection, InspectionContext } from "../kit/index.ts";
import { analyse, finding } from "./change-analysis.ts";
import {
  absoluteArguments,
  ansibleEnvironment,
  playbookArguments,
  rolePlaybook,
  WORKSPACE,
} from "./command.ts";
import { codeFindings, reduceConfig } from "./content.ts";
import { readSources } from "./run.ts";
import type { InventoryInputs, RunInputs } from "./schema.ts";

const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** A reviewer is shown this many findings; the rest is counted. */
export const FINDINGS_MAX = 500;

const place = Type.Union([Type.Tuple([Type.String(), Type.Integer()]), Type.Null()]);
const nullableText = Type.Union([Type.String(), Type.Null()]);

const AnswerSchema = Type.Union([
  Type.Object({
    ok: Type.Literal(true),
    ansible: Type.String(),
    python: Type.String(),
    hosts: Type.Array(
      Type.Object({
        name: Type.String(),
        address: nullableText,
        port: Type.Union([Type.Integer(), Type.Null()]),
        connection: nullableText,
        host_key_checking_disabled: Type.Boolean(),
        ssh_args: Type.Boolean(),
      }),
    ),
    selected: Type.Array(Type.String()),
    secret_like_variables: Type.Array(Type.String()),
    findings: Type.Array(Type.Object({ code: Type.String(), at: place })),
  }),
  Type.Object({
    ok: Type.Literal(false),
    code: Type.String({ pattern: "^[a-z_]{1,64}$" }),
    at: place,
  }),
]);
type Answer = Static<typeof AnswerSchema>;
const answers = Compile(AnswerSchema);

export async function inspectAnsible(context: InspectionContext): Promise<Inspection> {
  const inputs = context.inputs as RunInputs | InventoryInputs;
  const sources = await readSources(context);
  const config = reduceConfig(sources.config);
  const answer = await ask(context, inputs, config.env);
  if (answer === null) return { ok: false, code: "internal", at: null };
  if (!answer.ok) return { ok: false, code: answer.code, at: placeText(answer.at, context) };
  const analysis = analyse(sources.yaml, "playbook" in inputs ? inputs.playbook : null);
  const findings = [
    ...inventoryFindings(answer),
    ...vaultFindings(answer, context),
    ...codeFindings(context.files),
    ...config.findings,
    ...analysis.findings,
  ].toSorted(byWeight);
  return {
    ok: true,
    controller: {
      ansible_core: answer.ansible,
      python: answer.python,
      callback_digest: context.toolchain.callbackDigest,
    },
    hosts: answer.hosts.map((host) => host.name),
    selected: answer.selected,
    network: networkOf(answer),
    findings: findings.slice(0, FINDINGS_MAX),
    findings_omitted: Math.max(0, findings.length - FINDINGS_MAX),
    destructive_because: analysis.destructive.slice(0, FINDINGS_MAX),
    command: commandOf(context, inputs),
  };
}

const WEIGHT_ORDER: readonly Finding["weight"][] = ["deny", "needs_approval", "note"];

function byWeight(a: Finding, b: Finding): number {
  return WEIGHT_ORDER.indexOf(a.weight) - WEIGHT_ORDER.indexOf(b.weight);
}

async function ask(
  context: InspectionContext,
  inputs: RunInputs | InventoryInputs,
  env: Readonly<Record<string, string>>,
): Promise<Answer | null> {
  const { workspace, python, callbackDir } = context.toolchain;
  await context.writeFile(WORKSPACE.config, "[defaults]\n");
  if ("role" in inputs) {
    await context.writeFile(WORKSPACE.rolePlaybook, rolePlaybook(inputs.role, false));
  }
  const tool = await context.startTool({
    argv: [
      python,
      "-I",
      `${callbackDir}/aim_inspect.py`,
      "--out-fd",
      "{fd:frames}",
      "--config-fd",
      "{fd:config}",
    ],
    env: ansibleEnvironment(context.toolchain, env),
    cwd: `${workspace}/project`,
    inputs: [{ kind: "pipe", name: "config", bytes: Buffer.from(questionOf(inputs, workspace)) }],
  });
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of tool.frames) {
    size += piece.length;
    if (size <= ANSWER_BYTES_MAX) pieces.push(piece);
  }
  await tool.exit;
  return size > ANSWER_BYTES_MAX ? null : parseAnswer(Buffer.concat(pieces));
}

function parseAnswer(bytes: Buffer): Answer | null {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return answers.Check(value) ? value : null;
  } catch {
    return null;
  }
}

function questionOf(inputs: RunInputs | InventoryInputs, workspace: string): string {
  const playbook = "playbook" in inputs ? inputs.playbook : WORKSPACE.rolePlaybook;
  const hasPlaybook = "playbook" in inputs || "role" in inputs;
  return JSON.stringify({
    playbook: hasPlaybook ? `${workspace}/${playbook}` : null,
    inventory: inputs.inventory.map((path) => `${workspace}/${path}`),
    limit: inputs.limit ?? null,
    hosts: inputs.hosts.length > 0 ? inputs.hosts : null,
    vault: "credential_slots" in inputs && inputs.credential_slots.includes("vault_password"),
    extra_vars_names: "variables" in inputs ? Object.keys(inputs.variables) : [],
  });
}

function placeText(at: Static<typeof place>, context: InspectionContext): string | null {
  if (at === null) return null;
  const prefix = `${context.toolchain.workspace}/`;
  const path = at[0].startsWith(prefix) ? at[0].slice(prefix.length) : at[0];
  // A place is shown only if it is one of the reviewed files: anything else could carry text.
  return context.files.includes(path) ? `${path}:${at[1]}` : null;
}

function inventoryFindings(answer: Extract<Answer, { ok: true }>): Finding[] {
  const findings: Finding[] = [];
  for (const host of answer.hosts) {
    if (host.host_key_checking_disabled) findings.push(finding("host_key_checking_off", host.name));
    if (host.ssh_args) findings.push(finding("ssh_arguments", host.name));
  }
  for (const name of answer.secret_like_variables) {
    findings.push(finding("secret_like_variable", name));
  }
  return findings;
}

function vaultFindings(
  answer: Extract<Answer, { ok: true }>,
  context: InspectionContext,
): Finding[] {
  return answer.findings
    .filter(({ code }) => code === "vaulted_variables")
    .map(({ at }) => finding("vaulted_variables", placeText(at, context)));
}

const SSH_CONNECTIONS = new Set([
  null,
  "ssh",
  "smart",
  "ansible.builtin.ssh",
  "paramiko",
  "paramiko_ssh",
]);

function networkOf(answer: Extract<Answer, { ok: true }>): NetworkRule[] {
  const rules = new Map<string, NetworkRule>();
  for (const { address, port, connection } of answer.hosts) {
    if (address === null || !SSH_CONNECTIONS.has(connection)) continue;
    const rule: NetworkRule = { host: address, port: port ?? 22, protocol: "tcp" };
    if (rule.host.length <= 255 && rule.port > 0 && rule.port < 65_536) {
      rules.set(`${rule.host} ${rule.port}`, rule);
    }
  }
  return [...rules.values()];
}

function commandOf(context: InspectionContext, inputs: RunInputs | InventoryInputs): string[] {
  if (!("variables" in inputs)) {
    return [
      "ansible-inventory",
      ...inputs.inventory.flatMap((path) => ["--inventory", path]),
      "--list",
    ];
  }
  const argv = playbookArguments({
    inputs,
    check: context.jobType === "ansible.check_mode.run",
    slots: inputs.credential_slots,
  });
  return ["ansible-playbook", ...absoluteArguments(argv, context.toolchain.workspace)];
}
