// `aimctl evidence` and `aimctl deliveries`: what leaves a plane, and what its callbacks were told.
import type { Command } from "commander";
import type { DeliveriesFlags } from "../commands/deliveries.ts";
import type { VerifyFlags } from "../commands/evidence.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";
import { examples, integer, outputOption, type End } from "./options.ts";

export function declareEvidence(program: Command, end: End): void {
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
      const commands = await import("../commands/evidence.ts");
      end(await commands.exportEvidence(run, dir, exported.optsWithGlobals<OutputFlags>()));
    });
  const verify = evidence
    .command("verify")
    .description("Verifies an evidence folder. Needs no plane.")
    .argument("<dir>", "folder that aimctl evidence export wrote")
    .option("--key <file>", "public key that you trust (default: the folder's own)")
    .addOption(outputOption("text", "json"))
    .action(async (dir: string) => {
      const commands = await import("../commands/evidence.ts");
      end(await commands.verify(dir, verify.optsWithGlobals<VerifyFlags>()));
    });
  examples(exported, ["aimctl evidence export run_… ./run"]);
  examples(verify, ["aimctl evidence verify ./run --key seal.pub", "aimctl evidence verify ./run"]);
}

export function declareDeliveries(program: Command, end: End): void {
  const deliveries = program
    .command("deliveries")
    .description("Shows what callbacks were told, newest first.")
    .option("--dead", "only what was given up")
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("../commands/deliveries.ts");
      end(await commands.deliveries(deliveries.optsWithGlobals<DeliveriesFlags>()));
    });
  const replay = deliveries
    .command("replay")
    .description("Sends a delivery that was given up once more.")
    .argument("<event>", "id of the event")
    .argument("<index>", "number of the callback, from 0", integer(0, 7))
    .action(async (event: string, index: number) => {
      const commands = await import("../commands/deliveries.ts");
      end(await commands.replay(event, index, replay.optsWithGlobals<GlobalFlags>()));
    });
  examples(deliveries, ["aimctl deliveries --dead", "aimctl deliveries replay evt_… 0"]);
}
