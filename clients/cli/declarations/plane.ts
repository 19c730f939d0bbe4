// Commands about the plane itself: capabilities, request, doctor, runners.
import type { Command } from "commander";
import type { DoctorFlags } from "../commands/doctor.ts";
import type { RequestFlags } from "../commands/request.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";
import { colorOption, examples, outputOption, type End } from "./options.ts";

export function declarePlane(program: Command, end: End): void {
  const capabilities = program
    .command("capabilities")
    .description("Shows what the plane can do.")
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("../commands/capabilities.ts");
      end(await commands.capabilities(capabilities.optsWithGlobals<OutputFlags>()));
    });
  const request = program
    .command("request")
    .description("Takes one operation as a JSON line on stdin and prints the answer's JSON lines.")
    .option(
      "--credentials-fd <number>",
      "descriptor with one JSON object from slot to secret; for execute",
    )
    .action(async () => {
      const commands = await import("../commands/request.ts");
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
      const commands = await import("../commands/doctor.ts");
      end(await commands.doctor(doctor.optsWithGlobals<DoctorFlags>()));
    });
  examples(capabilities, ["aimctl capabilities", "aimctl capabilities --output json"]);
  examples(request, [
    `echo '{"api_version":"1.0","operation":"capabilities"}' | aimctl request`,
    "aimctl request --credentials-fd 3 < execute.json 3< credentials.json",
  ]);
  examples(doctor, ["aimctl doctor", "aimctl doctor --accept"]);
}

export function declareRunners(program: Command, end: End): void {
  const runners = program.command("runners").description("Shows runners, and lets one drain.");
  const list = runners
    .command("list")
    .description("Shows the runners that registered, those heard of last first.")
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("../commands/runners.ts");
      end(await commands.listRunners(list.optsWithGlobals<OutputFlags>()));
    });
  const drain = runners
    .command("drain")
    .description("Lets a runner finish what it holds, take nothing more and end.")
    .argument("<runner>", "id of the runner")
    .action(async (runner: string) => {
      const commands = await import("../commands/runners.ts");
      end(await commands.drainRunner(runner, drain.optsWithGlobals<GlobalFlags>()));
    });
  examples(list, ["aimctl runners list", "aimctl runners list --output json"]);
  examples(drain, ["aimctl runners drain rnr_…"]);
}
