// Runs the real command as a process: in pipes, or on a pseudo terminal through script(1).
import { spawn, type ChildProcess } from "node:child_process";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));

export interface Ended {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves once the output so far holds the text; rejects when the command ends without it. */
  saw(text: string): Promise<void>;
  type(text: string): void;
}

export interface StartOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What the command finds on descriptor 3. */
  readonly descriptor3?: string;
}

export function startAimctl(words: readonly string[], options: StartOptions = {}): Started {
  const started = spawn(process.execPath, [MAIN, ...words], {
    env: environment(options.env),
    stdio: ["pipe", "pipe", "pipe", "pipe"],
  });
  started.stdin.end(options.input ?? "");
  const third = started.stdio[3];
  if (third instanceof Writable) {
    // A command that refuses its arguments ends without reading.
    third.on("error", () => {}).end(options.descriptor3 ?? "");
  }
  started.stdin.on("error", () => {});
  return follow(started);
}

/** Both streams and the keyboard are one pseudo terminal of the given width. */
export function startOnTerminal(
  words: readonly string[],
  options: { readonly columns: number; readonly env?: Readonly<Record<string, string>> },
): Started {
  const command = [process.execPath, MAIN, ...words].map(quote).join(" ");
  const size = `stty cols ${options.columns} rows 40`;
  const started = spawn("script", ["-qfec", `${size}; exec ${command}`, "/dev/null"], {
    env: environment({ TERM: "xterm-256color", ...options.env }),
    stdio: ["pipe", "pipe", "pipe"],
  });
  return follow(started);
}

function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, LANG: "C.UTF-8", ...more };
}

function follow(started: ChildProcess): Started {
  const output = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    started[name]?.setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
      for (const look of waiting) look();
    });
  }
  const ended = new Promise<Ended>((resolve) => {
    started.once("close", (exit) => resolve({ exit, ...output }));
  });
  return {
    process: started,
    ended,
    type: (text) => void started.stdin?.write(text),
    saw: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!`${output.stdout}\n${output.stderr}`.includes(text)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        void ended.then(() =>
          reject(
            new Error(
              `the command ended without ${JSON.stringify(text)}: ${output.stdout}${output.stderr}`,
            ),
          ),
        );
        look();
      }),
  };
}

export function aimctl(words: readonly string[], options: StartOptions = {}): Promise<Ended> {
  return startAimctl(words, options).ended;
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
