// `aimctl jobs retry`: one more attempt of an ended job. Asks where the last one may have left something behind.
import { randomUUID } from "node:crypto";
import { RETRY_REASONS, type JobView, type RetryRequest } from "@aim/contract";
import { type Client } from "@aim/sdk";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { readCredentialsDescriptor, requirePrivateDescriptor } from "../run/credentials.ts";
import { ask, isTerminal } from "../run/terminal-input.ts";
import type { OutputFlags } from "../settings.ts";

export interface RetryFlags extends OutputFlags {
  readonly yes?: boolean;
  readonly key?: string;
  readonly credentialsFd?: string;
}

export async function retryJob(jobId: string, flags: RetryFlags): Promise<ExitCode> {
  const client = connect(flags);
  const confirmed = flags.yes === true || (await confirm(await client.job(jobId)));
  if (!confirmed) {
    process.stderr.write("Nothing was run.\n");
    return EXIT.other;
  }
  const accepted = await client.retryJob(jobId, await requestOf(client, flags));
  print(flags, accepted, ({ number, run_id }) => [
    `Attempt ${number} is accepted: aimctl watch ${visible(run_id)}`,
  ]);
  return EXIT.ok;
}

async function confirm({ attempts }: JobView): Promise<boolean> {
  const hint = attempts.at(-1)?.retry ?? null;
  // The plane refuses by itself what cannot be tried again; it says why.
  if (hint === null || hint.retryable !== "ask") return true;
  if (!isTerminal()) {
    throw new CliFault(
      EXIT.usage,
      `${RETRY_REASONS[hint.reason]} This is not a terminal, so nobody can confirm; --yes does.`,
    );
  }
  process.stderr.write(`${RETRY_REASONS[hint.reason]}\n`);
  return /^y(es)?$/i.test((await ask("Run it again? [y/N] ")).trim());
}

async function requestOf(client: Client, flags: RetryFlags): Promise<RetryRequest> {
  const request = { idempotency_key: flags.key ?? randomUUID(), confirm: true };
  if (flags.credentialsFd === undefined) return request;
  const descriptor = requirePrivateDescriptor(flags.credentialsFd);
  const credentials = await readCredentialsDescriptor(descriptor);
  return { ...request, credentials_id: await client.credentials(credentials) };
}
