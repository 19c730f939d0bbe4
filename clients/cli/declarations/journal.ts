// `aimctl journal`: what a job's runs left, a year later as well as live.
import type { Command } from "commander";
import type { JournalFollowFlags, JournalShowFlags } from "../commands/journal.ts";
import type { GlobalFlags } from "../settings.ts";
import { JOURNAL_RECORDS } from "./bounds.ts";
import { examples, integer, outputOption, type End } from "./options.ts";

const cursor = integer(0, Number.MAX_SAFE_INTEGER);

export function declareJournal(program: Command, end: End): void {
  const journal = program
    .command("journal")
    .description("Shows, follows and exports the retained journal of a job.");
  const show = journal
    .command("show")
    .description("Shows what the journal covers and its newest records.")
    .argument("<job>", "id of the job")
    .option("--after <cursor>", "the records behind this cursor instead", cursor)
    .option(
      "--limit <number>",
      "at most this many",
      integer(1, JOURNAL_RECORDS.most),
      JOURNAL_RECORDS.usual,
    )
    .addOption(outputOption("text", "json"))
    .action(async (job: string) => {
      const commands = await import("../commands/journal.ts");
      end(await commands.showJournal(job, show.optsWithGlobals<JournalShowFlags>()));
    });
  const follow = journal
    .command("follow")
    .description("Prints the records and goes on live until the job has ended.")
    .argument("<job>", "id of the job")
    .option("--after <cursor>", "only records behind this cursor", cursor, 0)
    .addOption(outputOption("text", "ndjson"))
    .action(async (job: string) => {
      const commands = await import("../commands/journal.ts");
      end(await commands.followJournal(job, follow.optsWithGlobals<JournalFollowFlags>()));
    });
  const exported = journal
    .command("export")
    .description("Writes everything that is retained as JSON lines to a new file.")
    .argument("<job>", "id of the job")
    .argument("<file>", "file that is not there yet")
    .action(async (job: string, file: string) => {
      const commands = await import("../commands/journal.ts");
      end(await commands.exportJournal(job, file, exported.optsWithGlobals<GlobalFlags>()));
    });
  examples(show, ["aimctl journal show job_…", "aimctl journal show job_… --after 1000000200"]);
  examples(follow, ["aimctl journal follow job_…"]);
  examples(exported, ["aimctl journal export job_… journal.ndjson"]);
}
