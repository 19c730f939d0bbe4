// `aimctl audit`: who did what, taken away and verified anywhere.
import type { Command } from "commander";
import type { AuditVerifyFlags, ShowFlags } from "../commands/audit.ts";
import { AUDIT_ROWS_MAX } from "./bounds.ts";
import { examples, integer, outputOption, type End } from "./options.ts";

export function declareAudit(program: Command, end: End): void {
  const audit = program
    .command("audit")
    .description("Shows who did what or was refused it, exports it, and verifies an export.");
  const show = audit
    .command("show")
    .description("Shows the newest rows of the audit.")
    .option("--after <position>", "rows after this one", integer(0, Number.MAX_SAFE_INTEGER))
    .option("--limit <number>", "how many", integer(1, AUDIT_ROWS_MAX), 50)
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("../commands/audit.ts");
      end(await commands.showAudit(show.optsWithGlobals<ShowFlags>()));
    });
  const exported = audit
    .command("export")
    .description(
      "Writes all rows into a new file and the sealed head beside it, and verifies both.",
    )
    .argument("<file>", "file that is not there yet")
    .addOption(outputOption("text", "json"))
    .action(async (file: string) => {
      const commands = await import("../commands/audit.ts");
      end(await commands.exportAudit(file, exported.optsWithGlobals<AuditVerifyFlags>()));
    });
  const verify = audit
    .command("verify")
    .description("Verifies an exported audit. Needs no plane.")
    .argument("<file>", "file that aimctl audit export wrote")
    .option("--key <file>", "public key that you trust")
    .option("--head <file>", "sealed head that was kept elsewhere (default: the file's own)")
    .addOption(outputOption("text", "json"))
    .action(async (file: string) => {
      const commands = await import("../commands/audit.ts");
      end(await commands.verifyFile(file, verify.optsWithGlobals<AuditVerifyFlags>()));
    });
  examples(show, ["aimctl audit show", "aimctl audit show --after 1200 --output json"]);
  examples(exported, ["aimctl audit export audit.ndjson"]);
  examples(verify, [
    "aimctl audit verify audit.ndjson --key seal.pub --head last-week.head",
    "aimctl audit verify audit.ndjson",
  ]);
}
