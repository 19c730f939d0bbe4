// Commands about what may run: approvals, and the administrator's switch.
import type { Command } from "commander";
import type { ShowApprovalFlags } from "../commands/approvals.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";
import { colorOption, examples, outputOption, type End } from "./options.ts";

export function declareApprovals(program: Command, end: End): void {
  const approvals = program
    .command("approvals")
    .description("Shows revisions that somebody else has to approve, and approves them.");
  const list = approvals
    .command("list")
    .description("Lists what waits.")
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("../commands/approvals.ts");
      end(await commands.listApprovals(list.optsWithGlobals<OutputFlags>()));
    });
  const show = approvals
    .command("show")
    .description("Shows the review of a revision.")
    .argument("<revision>", "the revision")
    .addOption(outputOption("text", "json"))
    .addOption(colorOption())
    .action(async (revision: string) => {
      const commands = await import("../commands/approvals.ts");
      end(await commands.showApproval(revision, show.optsWithGlobals<ShowApprovalFlags>()));
    });
  const approve = approvals
    .command("approve")
    .description("Approves exactly this revision.")
    .argument("<revision>", "the revision")
    .addOption(outputOption("text", "json"))
    .action(async (revision: string) => {
      const commands = await import("../commands/approvals.ts");
      end(await commands.approve(revision, approve.optsWithGlobals<OutputFlags>()));
    });
  examples(show, ["aimctl approvals list", "aimctl approvals show 5f3a…"]);
}

export function declareExecution(program: Command, end: End): void {
  const execution = program
    .command("execution")
    .description("Switches execution on or off for everybody; what runs goes on.");
  for (const [word, enabled, what] of [
    ["on", true, "Lets runs be executed."],
    ["off", false, "Refuses every execute until it is on again."],
  ] as const) {
    const command = execution
      .command(word)
      .description(what)
      .action(async () => {
        const commands = await import("../commands/approvals.ts");
        end(await commands.switchExecution(enabled, command.optsWithGlobals<GlobalFlags>()));
      });
  }
}
