// `aimctl run`.
import type { Command } from "commander";
import type { RunFlags } from "../commands/run.ts";
import { collect, colorOption, examples, integer, outputOption, type End } from "./options.ts";

export function declareRun(program: Command, end: End): void {
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
      const { run } = await import("../commands/run.ts");
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
