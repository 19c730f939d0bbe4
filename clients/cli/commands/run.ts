// `aimctl run`: register, prepare, review, confirm, execute, watch. In ansible-playbook's words.
import type { Credentials, Prepared, RunRequest } from "@aim/contract";
import { createClient, isAimError, type Client, type Execution } from "@aim/sdk";
import { requireLocal } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { ensurePlane } from "../personal-plane.ts";
import { reviewLines } from "../render/review.ts";
import { painter } from "../render/style.ts";
import { awaitRunner } from "../run/await-runner.ts";
import {
  gatherCredentials,
  planCredentials,
  type CredentialFlags,
} from "../run/credential-plan.ts";
import { presentRun, type Presentation } from "../run/present.ts";
import { projectOf, type ProjectFlags } from "../run/project.ts";
import { ask, isTerminal } from "../run/terminal-input.ts";
import { readVariables } from "../run/variables.ts";
import { places, wantsColor, type GlobalFlags } from "../settings.ts";

export interface RunFlags extends GlobalFlags, ProjectFlags, CredentialFlags, Presentation {
  readonly check?: boolean;
  readonly extraVars?: readonly string[];
  readonly yes?: boolean;
  readonly summary?: boolean;
}

export async function run(playbook: string | undefined, flags: RunFlags): Promise<ExitCode> {
  requireLocal(flags);
  const where = places(flags);
  if (flags.yes !== true && !isTerminal()) {
    throw new CliFault(
      EXIT.usage,
      "This is not a terminal, so nobody can confirm. Review first, then add --yes.",
    );
  }
  const variables = readVariables(flags.extraVars ?? []);
  const plan = await planCredentials(flags);
  const project = projectOf(playbook, flags, plan.slots);

  if ((await ensurePlane(where)) === "started") notice("aimctl: started a plane of your own\n");
  const client = createClient({ socketPath: where.socketPath });
  await awaitRunner(client, () => notice("aimctl: waiting for a runner\n"));
  const registered = await client.project(project);
  const prepared = await prepare(client, {
    customer: registered.customer,
    playbook: registered.playbook,
    hosts: registered.hosts,
    progress_mode: flags.summary === true ? "summary" : "detail",
    check: flags.check ?? false,
    variables,
  });
  notice(`${reviewLines(prepared, painter(wantsColor(flags.color, process.stderr))).join("\n")}\n`);
  requireAllowed(prepared);
  if (flags.yes !== true && !(await confirm(prepared))) {
    notice("Nothing was run.\n");
    return EXIT.other;
  }
  const execution = await executionOf(client, prepared, await gatherCredentials(plan));
  const open = (signal: AbortSignal) => client.execute(execution, { signal });
  return presentRun({ runId: null, open }, flags);
}

/** Content that destroys must be asked for by its name; the review then says so and the question is a harder one. */
async function prepare(client: Client, request: RunRequest): Promise<Prepared> {
  try {
    return await client.prepare(request);
  } catch (error) {
    if (!isAimError(error) || error.code !== "destructive_not_marked") throw error;
    return client.prepare({ ...request, destructive: true });
  }
}

function requireAllowed({ review }: Prepared): void {
  if (review.findings.some((finding) => finding.weight === "deny")) {
    throw new CliFault(EXIT.usage, "The review denies this run. Mend what it names and try again.");
  }
}

async function confirm({ review }: Prepared): Promise<boolean> {
  const count = review.hosts.length;
  const hosts = `${count} ${count === 1 ? "host" : "hosts"}`;
  if (review.destructive) {
    const typed = await ask(
      `This is destructive. Type the number of hosts to run it on ${hosts}: `,
    );
    return typed.trim() === String(count);
  }
  const answer = await ask(`Run this on ${hosts}? [y/N] `);
  return /^y(es)?$/i.test(answer.trim());
}

async function executionOf(
  client: Client,
  { request, revision }: Prepared,
  credentials: Credentials,
): Promise<Execution> {
  if (Object.keys(credentials).length === 0) return { request, revision };
  return { request, revision, credentials_id: await client.credentials(credentials) };
}

function notice(text: string): void {
  process.stderr.write(text);
}
