// Commands about one run or the newest ones: watch, status, cancel, artifacts.
import type { Command } from "commander";
import type { CancelFlags } from "../commands/cancel.ts";
import type { StatusFlags } from "../commands/status.ts";
import type { WatchFlags } from "../commands/watch.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";
import { colorOption, examples, integer, outputOption, type End } from "./options.ts";

export function declareRuns(program: Command, end: End): void {
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
      const commands = await import("../commands/watch.ts");
      end(await commands.watch(run, watch.optsWithGlobals<WatchFlags>()));
    });
  const status = program
    .command("status")
    .description("Shows where a run stands, or lists the newest runs.")
    .argument("[run]", "id of the run")
    .addOption(outputOption("text", "json"))
    .addOption(colorOption())
    .action(async (run: string | undefined) => {
      const commands = await import("../commands/status.ts");
      end(await commands.status(run, status.optsWithGlobals<StatusFlags>()));
    });
  const cancel = program
    .command("cancel")
    .description("Asks for a stop and waits until the run has ended.")
    .argument("<run>", "id of the run")
    .option("--no-wait", "do not wait for the end")
    .addOption(outputOption("text", "json"))
    .action(async (run: string) => {
      const commands = await import("../commands/cancel.ts");
      end(await commands.cancel(run, cancel.optsWithGlobals<CancelFlags>()));
    });
  examples(watch, ["aimctl watch run_…", "aimctl watch run_… --after 120 --output ndjson"]);
  examples(status, ["aimctl status", "aimctl status run_… --output json"]);
  examples(cancel, ["aimctl cancel run_…", "aimctl cancel run_… --no-wait"]);
}

export function declareArtifacts(program: Command, end: End): void {
  const artifacts = program
    .command("artifacts")
    .description("Lists what was kept of a run, or prints one part of it.");
  const list = artifacts
    .command("list")
    .description("Lists the bundle of a run.")
    .argument("<run>", "id of the run")
    .addOption(outputOption("text", "json"))
    .action(async (run: string) => {
      const commands = await import("../commands/artifacts.ts");
      end(await commands.listArtifacts(run, list.optsWithGlobals<OutputFlags>()));
    });
  const get = artifacts
    .command("get")
    .description("Prints the bytes of one part, checked against their digest.")
    .argument("<run>", "id of the run")
    .argument("<path>", "place in the bundle")
    .action(async (run: string, path: string) => {
      const commands = await import("../commands/artifacts.ts");
      end(await commands.getArtifact(run, path, get.optsWithGlobals<GlobalFlags>()));
    });
  examples(list, ["aimctl artifacts list run_…"]);
  examples(get, ["aimctl artifacts get run_… result/result.json"]);
}
