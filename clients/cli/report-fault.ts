// Turns whatever ended a command into one sentence on stderr and an exit status.
import { isAimError, isClientError } from "@aim/sdk";
import { EXIT, exitOfClientFault, exitOfProblem, type ExitCode } from "./exit-codes.ts";
import { CliFault } from "./fault.ts";
import { visible } from "./render/escape.ts";

/** Where JSON was asked for, a refusal also goes to stdout as the contract's error line. */
export function reportFault(fault: unknown, words: readonly string[]): ExitCode {
  if (fault instanceof CliFault) {
    say(fault.message);
    return fault.exitCode;
  }
  if (isAimError(fault)) {
    if (wantsJson(words)) {
      process.stdout.write(`${JSON.stringify({ type: "error", error: fault.toProblem() })}\n`);
    }
    const place = fault.at === undefined ? "" : ` at ${visible(fault.at)}`;
    say(`${fault.message} (${fault.code}${place})`);
    return exitOfProblem(fault);
  }
  if (isClientError(fault)) {
    const next =
      fault.code === "unreachable" ? " aimctl run starts one; aimctl doctor tells more." : "";
    say(`${fault.message}${next}`);
    return exitOfClientFault(fault.code, false);
  }
  say(`aimctl met a fault of its own: ${defect(fault)}`);
  return EXIT.other;
}

function wantsJson(words: readonly string[]): boolean {
  return words.some((word, index) => {
    const form = word === "--output" ? words[index + 1] : word.replace(/^--output=/, "");
    return form === "json" || form === "ndjson";
  });
}

/** The name and the places of a defect. Its message could quote input, so it stays unsaid. */
function defect(fault: unknown): string {
  if (!(fault instanceof Error)) return "something that is no error was thrown.";
  const code = "code" in fault ? ` ${String(fault.code)}` : "";
  const frames = (fault.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return [visible(`${fault.name}${code}`), ...frames.slice(0, 8).map(visible)].join("\n");
}

function say(sentence: string): void {
  process.stderr.write(`aimctl: ${sentence}\n`);
}
