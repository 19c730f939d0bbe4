// What several declarations share: examples before the help, and options that mean the same everywhere.
import { InvalidArgumentError, Option, type Command } from "commander";
import type { ExitCode } from "../exit-codes.ts";

/** Takes a command's exit status. */
export type End = (exit: ExitCode) => void;

export function examples(command: Command, lines: readonly string[]): void {
  command.addHelpText("before", `Examples:\n${lines.map((line) => `  ${line}`).join("\n")}\n`);
}

export function outputOption(...forms: readonly string[]): Option {
  return new Option("--output <form>", "form of what goes to stdout")
    .choices(forms)
    .default("text");
}

export function colorOption(): Option {
  return new Option("--color <when>", "use colours")
    .choices(["auto", "always", "never"])
    .default("auto");
}

export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

export function integer(least: number, most: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= least && number <= most) return number;
    const bound = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
    throw new InvalidArgumentError(`It must be a whole number, ${bound}.`);
  };
}
