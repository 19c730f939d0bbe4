// How the CLI ends early: one sentence for a person, one status for a script.
import type { ExitCode } from "./exit-codes.ts";

/** Thrown to end a command. The message is a finished sentence; text from outside in it must be escaped before. */
export class CliFault extends Error {
  override readonly name = "CliFault";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, sentence: string) {
    super(sentence);
    this.exitCode = exitCode;
  }
}
