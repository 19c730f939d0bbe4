// `aimctl jobs`: durable requests with all their attempts.
import type { Command } from "commander";
import type { JobCancelFlags, JobListFlags, JobWatchFlags } from "../commands/jobs.ts";
import type { RetryFlags } from "../commands/retry.ts";
import { JOBS_MAX } from "./bounds.ts";
import type { OutputFlags } from "../settings.ts";
import { colorOption, examples, integer, outputOption, type End } from "./options.ts";

export function declareJobs(program: Command, end: End): void {
  const jobs = program.command("jobs").description("Lists, shows, watches and cancels jobs.");
  declareReading(jobs, end);
  declareChanging(jobs, end);
}

function declareReading(jobs: Command, end: End): void {
  const list = jobs
    .command("list")
    .description("Lists the newest jobs with the state of their newest attempt.")
    .option("--in <state>", "only jobs whose newest attempt is in this state")
    .option("--customer <name>", "only jobs of this customer")
    .option("--before <job>", "only jobs older than this one")
    .option("--limit <number>", "at most this many", integer(1, JOBS_MAX), 50)
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("../commands/jobs.ts");
      end(await commands.listJobs(list.optsWithGlobals<JobListFlags>()));
    });
  const show = jobs
    .command("show")
    .description("Shows a job with all its attempts, and whether a retry makes sense.")
    .argument("<job>", "id of the job")
    .addOption(outputOption("text", "json"))
    .action(async (job: string) => {
      const commands = await import("../commands/jobs.ts");
      end(await commands.showJob(job, show.optsWithGlobals<OutputFlags>()));
    });
  const watch = jobs
    .command("watch")
    .description("Shows the newest attempt of a job from its start and goes on live.")
    .argument("<job>", "id of the job")
    .addOption(outputOption("text", "json", "ndjson"))
    .addOption(colorOption())
    .action(async (job: string) => {
      const commands = await import("../commands/jobs.ts");
      end(await commands.watchJob(job, watch.optsWithGlobals<JobWatchFlags>()));
    });
  examples(list, ["aimctl jobs list", "aimctl jobs list --in lost --customer acme"]);
  examples(show, ["aimctl jobs show job_…"]);
  examples(watch, ["aimctl jobs watch job_…"]);
}

function declareChanging(jobs: Command, end: End): void {
  const cancel = jobs
    .command("cancel")
    .description("Asks the newest attempt of a job to stop and waits until it has ended.")
    .argument("<job>", "id of the job")
    .option("--no-wait", "do not wait for the end")
    .addOption(outputOption("text", "json"))
    .action(async (job: string) => {
      const commands = await import("../commands/jobs.ts");
      end(await commands.cancelJob(job, cancel.optsWithGlobals<JobCancelFlags>()));
    });
  const retry = jobs
    .command("retry")
    .description("Makes a new attempt of an ended job: the same content, the same targets.")
    .argument("<job>", "id of the job")
    .option("--yes", "confirm without asking, also where nobody knows what the last attempt did")
    .option("--key <text>", "idempotency key (default: a fresh one)")
    .option("--credentials-fd <number>", "descriptor with one JSON object from slot to secret")
    .addOption(outputOption("text", "json"))
    .action(async (job: string) => {
      const commands = await import("../commands/retry.ts");
      end(await commands.retryJob(job, retry.optsWithGlobals<RetryFlags>()));
    });
  examples(cancel, ["aimctl jobs cancel job_…"]);
  examples(retry, ["aimctl jobs retry job_…", "aimctl jobs retry job_… --yes --output json"]);
}
