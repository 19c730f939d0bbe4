// Drives one Ansible run: writes its inputs, starts it, reads its private channel, accounts for every host.
import { ANSIBLE_CORE_VERSION, type Outcome } from "@aim/contract";
import type { AttemptContext } from "../kit/index.ts";
import { account, stopThatCounts } from "./accounting.ts";
import { analyse, type SourceFile } from "./change-analysis.ts";
import {
  absoluteArguments,
  ansibleEnvironment,
  playbookArguments,
  privateInputs,
  rolePlaybook,
  variablesYaml,
  WORKSPACE,
} from "./command.ts";
import { mayHoldTasks, reduceConfig } from "./content.ts";
import { createFrameReader } from "./frames.ts";
import { createCredentialSearch, createHostRule } from "./names.ts";
import { checkOperationResult, OPERATION_RESULT_BYTES_MAX } from "./operation-result.ts";
import { createProjection } from "./projection.ts";
import type { RunInputs } from "./schema.ts";

export async function runAnsible(context: AttemptContext): Promise<Outcome> {
  const inputs = context.spec.inputs as RunInputs;
  const check = context.spec.job_type === "ansible.check_mode.run";
  const sources = await readSources(context);
  const credentials = [...context.credentials.values()].map((bytes) =>
    Buffer.from(bytes).toString(),
  );
  const holdsCredential = createCredentialSearch(credentials);
  const nonce = context.nonce();
  const { knows } = analyse(sources.yaml, "playbook" in inputs ? inputs.playbook : null);
  const projection = createProjection({
    mode: inputs.progress_mode,
    nonce,
    ansible: ANSIBLE_CORE_VERSION,
    callback: context.toolchain.callbackDigest,
    publicHost: createHostRule(inputs.hosts, holdsCredential),
    holdsCredential,
    knowsChange: (at) =>
      at !== null && knows.get(placeOf(at, context.toolchain.workspace)) === true,
    emit: context.emit,
  });
  await writeInputs(context, inputs);
  const argv = playbookArguments({ inputs, check, slots: [...context.credentials.keys()] });
  await context.move("running");
  const tool = await context.startTool({
    argv: [
      context.toolchain.python,
      "-I",
      `${context.toolchain.callbackDir}/aim_play.py`,
      "--frames-fd",
      "{fd:frames}",
      "--config-fd",
      "{fd:config}",
      "--",
      ...absoluteArguments(argv, context.toolchain.workspace),
    ],
    env: ansibleEnvironment(context.toolchain, reduceConfig(sources.config).env),
    cwd: `${context.toolchain.workspace}/project`,
    inputs: [
      { kind: "pipe", name: "config", bytes: Buffer.from(launcherConfig(nonce, inputs)) },
      ...privateInputs(context.credentials),
    ],
  });
  const reader = createFrameReader((frame) => projection.accept(frame));
  for await (const bytes of tool.frames) reader.push(bytes);
  const exit = await tool.exit;
  await context.move("finalizing");
  return account({
    hosts: inputs.hosts,
    books: projection.books,
    fault: reader.fault,
    unfinished: reader.unfinished,
    exitCode: exit.code,
    stop: stopThatCounts(exit.reason, context.stopReason()),
    operationResult: checkOperationResult(inputs, projection.books, holdsCredential),
  });
}

/** Ansible names a file by its path in the sandbox; the review names it by its place in the bundle. */
function placeOf([path, line]: readonly [string, number], workspace: string): string {
  const place = path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;
  return `${place}:${line}`;
}

function launcherConfig(nonce: string, inputs: RunInputs): string {
  return JSON.stringify({
    nonce,
    result_key: inputs.operation_result?.key ?? null,
    result_max: OPERATION_RESULT_BYTES_MAX,
  });
}

interface Sources {
  readonly yaml: readonly SourceFile[];
  readonly config: SourceFile | null;
}

/** Reads what static analysis looks at. */
export async function readSources(
  context: Pick<AttemptContext, "files" | "readFile">,
): Promise<Sources> {
  const read = async (path: string): Promise<SourceFile> => ({
    path,
    text: Buffer.from(await context.readFile(path)).toString(),
  });
  const yaml: SourceFile[] = [];
  for (const path of context.files.filter(mayHoldTasks)) yaml.push(await read(path));
  const config = context.files.includes("project/ansible.cfg")
    ? await read("project/ansible.cfg")
    : null;
  return { yaml, config };
}

async function writeInputs(context: AttemptContext, inputs: RunInputs): Promise<void> {
  await context.writeFile(WORKSPACE.config, "[defaults]\n");
  await context.writeFile(WORKSPACE.limit, `${inputs.hosts.join("\n")}\n`);
  await context.writeFile(WORKSPACE.variables, variablesYaml(inputs.variables));
  if ("role" in inputs) {
    await context.writeFile(WORKSPACE.rolePlaybook, rolePlaybook(inputs.role, inputs.gather_facts));
  }
}
