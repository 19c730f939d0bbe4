// Questions on the terminal. Prompts go to stderr; what is typed for a secret is not echoed.
import { createInterface } from "node:readline/promises";
import { EXIT } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";

const INTERRUPTED = "Nothing was run.";

export function isTerminal(): boolean {
  return process.stdin.isTTY;
}

/** Asks one question and gives the line typed. Throws CliFault 130 for Ctrl-C and for the end of input. */
export async function ask(question: string): Promise<string> {
  const asking = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  const stopped = new Promise<never>((_resolve, reject) => {
    const stop = () => reject(new CliFault(EXIT.detached, INTERRUPTED));
    asking.once("SIGINT", stop);
    asking.once("close", stop);
  });
  try {
    return await Promise.race([asking.question(question), stopped]);
  } finally {
    // Closing settles `stopped` too, which then nobody waits for.
    stopped.catch(() => {});
    asking.close();
  }
}

/** Asks for a secret without echo. Throws CliFault 130 for Ctrl-C, 64 for an empty answer. */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  // The echo goes off before the question appears: whoever answers at once must not be shown.
  stdin.setRawMode(true);
  stderr.write(question);
  stdin.resume();
  try {
    const secret = await typedLine();
    if (secret === "") throw new CliFault(EXIT.usage, "Nothing was typed, so nothing was run.");
    return secret;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}

function typedLine(): Promise<string> {
  const { stdin } = process;
  let typed = "";
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      stdin.off("data", take);
      end();
    };
    const take = (bytes: Buffer) => {
      for (const character of bytes.toString("utf8")) {
        if (character === "\r" || character === "\n") return settle(() => resolve(typed));
        if (character === "\u0003" || (character === "\u0004" && typed === "")) {
          return settle(() => reject(new CliFault(EXIT.detached, INTERRUPTED)));
        }
        typed = edit(typed, character);
      }
    };
    stdin.on("data", take);
  });
}

function edit(typed: string, character: string): string {
  if (character === "\u007f" || character === "\b") return Array.from(typed).slice(0, -1).join("");
  if (character === "\u0015") return "";
  return typed + character;
}
