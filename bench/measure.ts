// Runs one command under measure.py: wall and CPU time of its whole tree, and when its first output came.
import { spawn } from "node:child_process";
import { Duplex, Readable } from "node:stream";
import { fileURLToPath } from "node:url";

const MEASURE = fileURLToPath(new URL("measure.py", import.meta.url));

export interface Command {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Where its output goes: thrown away by the kernel, or read by this process. */
  readonly output: "null" | "read";
  /** What the first output or frame that counts holds. */
  readonly firstMark?: string;
  /** Takes what the command writes to descriptor 3. */
  readonly onFrames?: (bytes: Uint8Array) => void;
  /** What the command reads from descriptor 4. */
  readonly config?: string;
}

export interface Measured {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly systemMs: number;
  /** From the start of the command to its first output or frame; null when it gave none. */
  readonly firstMs: number | null;
  /** CPU time that this process itself spent meanwhile. */
  readonly readerMs: number;
}

interface Told {
  readonly start_ns: string;
  readonly wall_ms: number;
  readonly user_ms: number;
  readonly system_ms: number;
  readonly status: number;
}

export async function measure(python: string, command: Command): Promise<Measured> {
  const used = process.cpuUsage();
  let firstNs: bigint | null = null;
  const child = spawn(
    python,
    ["-I", MEASURE, command.output === "null" ? "null" : "pass", "--", ...command.argv],
    {
      cwd: command.cwd,
      env: { ...command.env },
      stdio: ["ignore", "pipe", "pipe", "pipe", "pipe", "pipe"],
    },
  );
  const pipes: readonly unknown[] = child.stdio;
  const [, stdout, stderr, frames, config, report] = pipes;
  const onFirst = (bytes: Buffer): void => {
    if (bytes.includes(command.firstMark ?? "")) firstNs ??= process.hrtime.bigint();
  };
  readable(stdout).on("data", onFirst);
  const complaints = collect(readable(stderr));
  readable(frames).on("data", (bytes: Buffer) => {
    onFirst(bytes);
    command.onFrames?.(bytes);
  });
  if (config instanceof Duplex) config.end(command.config ?? "");
  const told = collect(readable(report));
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve());
  });
  const text = (await told).toString();
  const result = text === "" ? null : (JSON.parse(text) as Told);
  if (result?.status !== 0) {
    const end = (await complaints).toString().slice(-2000);
    throw new Error(`${command.argv[0] ?? ""} ended with ${result?.status ?? "nothing"}: ${end}`);
  }
  const reader = process.cpuUsage(used);
  return {
    wallMs: result.wall_ms,
    cpuMs: result.user_ms + result.system_ms,
    systemMs: result.system_ms,
    firstMs: firstNs === null ? null : Number(firstNs - BigInt(result.start_ns)) / 1e6,
    readerMs: (reader.user + reader.system) / 1000,
  };
}

function readable(stream: unknown): Readable {
  if (!(stream instanceof Readable)) throw new Error("a descriptor is missing");
  return stream;
}

async function collect(stream: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
