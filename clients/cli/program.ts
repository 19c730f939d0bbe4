// Every command and flag in one place. A command's own code is loaded only when it is called: help stays fast.
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { ArtifactsFlags } from "./commands/artifacts.ts";
import type { CancelFlags } from "./commands/cancel.ts";
import type { CapabilitiesFlags } from "./commands/capabilities.ts";
import type { DeliveriesFlags } from "./commands/deliveries.ts";
import type { ExportFlags, VerifyFlags } from "./commands/evidence.ts";
import type { DoctorFlags } from "./commands/doctor.ts";
import type { RequestFlags } from "./commands/request.ts";
import type { RunFlags } from "./commands/run.ts";
import type { StatusFlags } from "./commands/status.ts";
import type { WatchFlags } from "./commands/watch.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { visibleDocument } from "./render/escape.ts";
import type { GlobalFlags } from "./settings.ts";

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

type End = (exit: ExitCode) => void;

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
    .option("--version", "print the version");
  examples(program, [
    "aimctl run site.yml -i inventory.ini",
    "aimctl run site.yml -i inventory.ini -l web -C",
    "aimctl status",
    "aimctl doctor",
  ]);
  declareRun(program, end);
  declareRuns(program, end);
  declareEvidence(program, end);
  declareDeliveries(program, end);
  declarePlane(program, end);
  return program;
}

function declareRun(program: Command, end: End): void {
  const command = program
    .command("run")
    .summary("prepare, review, confirm, execute and watch a playbook")
    .description("Prepares a playbook, shows what it would do, asks, runs it and shows it live.")
    .argument("[playbook]", "playbook file; with --role the project folder")
    .option("-i, --inventory <path>", "inventory file or folder; may be repeated", collect)
    .option("-l, --limit <pattern>", "further limit the hosts")
    .option("-C, --check", "predict changes, make none")
    .option(
      "-e, --extra-vars <vars>",
      "key=value words, a JSON object or @file.json; may be repeated",
      collect,
    )
    .option("-t, --tags <tags>", "only plays and tasks with these tags", collect)
    .option("--skip-tags <tags>", "not the plays and tasks with these tags", collect)
    .option("-f, --forks <number>", "hosts at the same time (default: 5)", integer(1, 500))
    .option("-u, --user <name>", "connect as this user")
    .option("-b, --become", "become another user")
    .option("-k, --ask-pass", "ask for the SSH password")
    .option("-K, --ask-become-pass", "ask for the become password")
    .option("--private-key <file>", "private key for SSH")
    .option("--vault-password-file <file>", "file with the vault password")
    .option("-J, --ask-vault-pass", "ask for the vault password")
    .option("--known-hosts <file>", "known host keys (default: ~/.ssh/known_hosts)")
    .option("--credentials-fd <number>", "descriptor with one JSON object from slot to secret")
    .option("--timeout <seconds>", "deadline of the run (default: 3600)", integer(1, 604_800))
    .option("--role <name>", "run this role of the project instead of a playbook")
    .option("--yes", "confirm without asking")
    .option("--summary", "anonymous counters instead of plays, tasks and hosts")
    .addOption(outputOption("text", "json", "ndjson"))
    .addOption(colorOption())
    .action(async (playbook: string | undefined) => {
      const { run } = await import("./commands/run.ts");
      end(await run(playbook, command.optsWithGlobals<RunFlags>()));
    });
  examples(command, [
    "aimctl run site.yml -i inventory.ini",
    "aimctl run site.yml -i inventory.ini -l 'web:!web3' -C",
    "aimctl run site.yml -i inventory.ini -u deploy -b -K --private-key ~/.ssh/id_ed25519",
    "aimctl run site.yml -i inventory.ini -e release=1.4.2 --yes --output ndjson",
    "aimctl run . --role nginx -i inventory.ini",
  ]);
}

function declareRuns(program: Command, end: End): void {
  const watch = program
    .command("watch")
    .description("Shows a run from its start and goes on live.")
    .argument("<run>", "id of the run")
    .option(
      "--after <sequence>",
      "only events after this sequence",
      integer(0, Number.MAX_SAFE_INTEGER),
      0,
    )
    .addOption(outputOption("text", "json", "ndjson"))
    .addOption(colorOption())
    .action(async (run: string) => {
      const commands = await import("./commands/watch.ts");
      end(await commands.watch(run, watch.optsWithGlobals<WatchFlags>()));
    });
  const status = program
    .command("status")
    .description("Shows where a run stands, or lists the newest runs.")
    .argument("[run]", "id of the run")
    .addOption(outputOption("text", "json"))
    .addOption(colorOption())
    .action(async (run: string | undefined) => {
      const commands = await import("./commands/status.ts");
      end(await commands.status(run, status.optsWithGlobals<StatusFlags>()));
    });
  const cancel = program
    .command("cancel")
    .description("Asks for a stop and waits until the run has ended.")
    .argument("<run>", "id of the run")
    .option("--no-wait", "do not wait for the end")
    .addOption(outputOption("text", "json"))
    .action(async (run: string) => {
      const commands = await import("./commands/cancel.ts");
      end(await commands.cancel(run, cancel.optsWithGlobals<CancelFlags>()));
    });
  const artifacts = program
    .command("artifacts")
    .description("Lists what was kept of a run, or prints one part of it.")
    .argument("<run>", "id of the run")
    .option("--get <path>", "print the bytes of this part, checked against its digest")
    .addOption(outputOption("text", "json"))
    .action(async (run: string) => {
      const commands = await import("./commands/artifacts.ts");
      end(await commands.artifacts(run, artifacts.optsWithGlobals<ArtifactsFlags>()));
    });
  examples(watch, ["aimctl watch run_…", "aimctl watch run_… --after 120 --output ndjson"]);
  examples(status, ["aimctl status", "aimctl status run_… --output json"]);
  examples(cancel, ["aimctl cancel run_…", "aimctl cancel run_… --no-wait"]);
  examples(artifacts, [
    "aimctl artifacts run_…",
    "aimctl artifacts run_… --get result/result.json",
  ]);
}

function declareEvidence(program: Command, end: End): void {
  const evidence = program
    .command("evidence")
    .description("Takes the sealed evidence of a run away, and verifies it anywhere.");
  const exported = evidence
    .command("export")
    .description("Writes the evidence of a run with its seal into a new folder, and verifies it.")
    .argument("<run>", "id of the run")
    .argument("<dir>", "folder that is empty or not there")
    .addOption(outputOption("text", "json"))
    .action(async (run: string, dir: string) => {
      const commands = await import("./commands/evidence.ts");
      end(await commands.exportEvidence(run, dir, exported.optsWithGlobals<ExportFlags>()));
    });
  const verify = evidence
    .command("verify")
    .description("Verifies an evidence folder. Needs no plane.")
    .argument("<dir>", "folder that aimctl evidence export wrote")
    .option("--key <file>", "public key that you trust (default: the folder's own)")
    .addOption(outputOption("text", "json"))
    .action(async (dir: string) => {
      const commands = await import("./commands/evidence.ts");
      end(await commands.verify(dir, verify.optsWithGlobals<VerifyFlags>()));
    });
  examples(exported, ["aimctl evidence export run_… ./run"]);
  examples(verify, ["aimctl evidence verify ./run --key seal.pub", "aimctl evidence verify ./run"]);
}

function declareDeliveries(program: Command, end: End): void {
  const deliveries = program
    .command("deliveries")
    .description("Shows what callbacks were told, newest first.")
    .option("--dead", "only what was given up")
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("./commands/deliveries.ts");
      end(await commands.deliveries(deliveries.optsWithGlobals<DeliveriesFlags>()));
    });
  const replay = deliveries
    .command("replay")
    .description("Sends a delivery that was given up once more.")
    .argument("<event>", "id of the event")
    .argument("<index>", "number of the callback, from 0", integer(0, 7))
    .action(async (event: string, index: number) => {
      const commands = await import("./commands/deliveries.ts");
      end(await commands.replay(event, index, replay.optsWithGlobals<GlobalFlags>()));
    });
  examples(deliveries, ["aimctl deliveries --dead", "aimctl deliveries replay evt_… 0"]);
}

function declarePlane(program: Command, end: End): void {
  const capabilities = program
    .command("capabilities")
    .description("Shows what the plane can do.")
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("./commands/capabilities.ts");
      end(await commands.capabilities(capabilities.optsWithGlobals<CapabilitiesFlags>()));
    });
  const request = program
    .command("request")
    .description("Takes one operation as a JSON line on stdin and prints the answer's JSON lines.")
    .option(
      "--credentials-fd <number>",
      "descriptor with one JSON object from slot to secret; for execute",
    )
    .action(async () => {
      const commands = await import("./commands/request.ts");
      end(await commands.request(request.optsWithGlobals<RequestFlags>()));
    });
  const doctor = program
    .command("doctor")
    .description("Checks what a run needs and says what to do where something is missing.")
    .option("--start", "start a plane where none answers")
    .option(
      "--accept",
      "run the acceptance suite for this controller (starts a plane where none answers)",
    )
    .addOption(colorOption())
    .action(async () => {
      const commands = await import("./commands/doctor.ts");
      end(await commands.doctor(doctor.optsWithGlobals<DoctorFlags>()));
    });
  examples(capabilities, ["aimctl capabilities", "aimctl capabilities --output json"]);
  examples(request, [
    `echo '{"api_version":"1.0","operation":"capabilities"}' | aimctl request`,
    "aimctl request --credentials-fd 3 < execute.json 3< credentials.json",
  ]);
  examples(doctor, ["aimctl doctor", "aimctl doctor --accept"]);
}

function examples(command: Command, lines: readonly string[]): void {
  command.addHelpText("before", `Examples:\n${lines.map((line) => `  ${line}`).join("\n")}\n`);
}

function outputOption(...forms: readonly string[]): Option {
  return new Option("--output <form>", "form of what goes to stdout")
    .choices(forms)
    .default("text");
}

function colorOption(): Option {
  return new Option("--color <when>", "use colours")
    .choices(["auto", "always", "never"])
    .default("auto");
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function integer(least: number, most: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= least && number <= most) return number;
    const bound = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
    throw new InvalidArgumentError(`It must be a whole number, ${bound}.`);
  };
}
