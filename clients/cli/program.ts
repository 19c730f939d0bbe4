// Every command and flag stands in declarations/. A command's own code is loaded only when it is called: help stays fast.
import { Command, CommanderError } from "commander";
import { declareLogin, declareTokens, declareUsers } from "./declarations/access.ts";
import { declareApprovals, declareExecution } from "./declarations/approvals.ts";
import { declareAudit } from "./declarations/audit.ts";
import { declareDeliveries, declareEvidence } from "./declarations/evidence.ts";
import { declareJobs } from "./declarations/jobs.ts";
import { declareJournal } from "./declarations/journal.ts";
import { examples, type End } from "./declarations/options.ts";
import { declarePlane, declareRunners } from "./declarations/plane.ts";
import { declareRun } from "./declarations/run.ts";
import { declareArtifacts, declareRuns } from "./declarations/runs.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { visibleDocument } from "./render/escape.ts";

/** Parses the arguments, runs the command and gives its exit status. Never throws; faults become sentences. */
export async function runProgram(words: readonly string[]): Promise<ExitCode> {
  if (words.includes("--version")) return printVersion();
  let exit: ExitCode = EXIT.ok;
  const program = declare((ended) => {
    exit = ended;
  });
  try {
    await program.parseAsync(words, { from: "user" });
    return exit;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const { reportFault } = await import("./report-fault.ts");
    return reportFault(error, words);
  }
}

async function printVersion(): Promise<ExitCode> {
  const { PRODUCT_VERSION } = await import("@aim/contract");
  process.stdout.write(`aimctl ${PRODUCT_VERSION}\n`);
  return EXIT.ok;
}

function declare(end: End): Command {
  const program = new Command("aimctl");
  program
    .description("Runs reviewed Ansible playbooks in single-use sandboxes and shows them live.")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (sentence, write) => {
        write(`aimctl: ${visibleDocument(sentence.replace(/^error: /, ""))}`);
      },
    })
    .option("--socket <path>", "socket of a running plane; none is started then")
    .option(
      "--state <dir>",
      "state folder (default: $AIM_STATE_DIR, else $XDG_STATE_HOME/aim, else ~/.local/state/aim)",
    )
    .option("--url <url>", "a plane elsewhere: https://HOST[:PORT]")
    .option("--context <name>", "a plane that one is logged in to; local for that of this machine")
    .option("--ca <file>", "authority that made the plane's certificate, as PEM")
    .option("--version", "print the version");
  examples(program, [
    "aimctl run site.yml -i inventory.ini",
    "aimctl run site.yml -i inventory.ini -l web -C",
    "aimctl status",
    "aimctl doctor",
  ]);
  declareRun(program, end);
  declareRuns(program, end);
  declareJobs(program, end);
  declareJournal(program, end);
  declareArtifacts(program, end);
  declareEvidence(program, end);
  declareDeliveries(program, end);
  declareAudit(program, end);
  declareRunners(program, end);
  declarePlane(program, end);
  declareLogin(program, end);
  declareUsers(program, end);
  declareTokens(program, end);
  declareApprovals(program, end);
  declareExecution(program, end);
  return program;
}
