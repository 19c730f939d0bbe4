// `aimctl capabilities`: what the plane can do, each fact by itself.
import type { Capabilities } from "@aim/contract";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import type { OutputFlags } from "../settings.ts";

export async function capabilities(flags: OutputFlags): Promise<ExitCode> {
  const found = await connect(flags).capabilities();
  print(flags, found, factLines);
  return EXIT.ok;
}

function factLines(found: Capabilities): string[] {
  const { runtime, execution_progress: progress } = found;
  const facts: (readonly [string, string])[] = [
    ["version", found.version],
    ["api version", found.api_version],
    ["operations", found.operations.join(", ")],
    ["job types", found.job_types.join(", ")],
    ["progress modes", `${progress.modes.join(", ")} (default ${progress.default})`],
    ["qualification", progress.qualification],
    ["enabled", yesNo(found.enabled)],
    ["runtime ready", yesNo(found.runtime_ready)],
  ];
  if (runtime !== null) {
    const { passed, failed } = runtime.sandbox_checks;
    facts.push(
      ["ansible-core", runtime.ansible_core],
      ["python", runtime.python],
      ["isolation", runtime.isolation],
      ["sandbox checks", `${passed} passed, ${failed} failed`],
    );
  }
  return facts.map(([name, value]) => `${name.padEnd(16)} ${visible(value)}`);
}

function yesNo(fact: boolean): string {
  return fact ? "yes" : "no";
}
