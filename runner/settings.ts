// What a runner was told. The only reader of its command line and environment.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

export interface RunnerSettings {
  readonly socketPath: string;
  /** Folder for sandboxes; short, since sockets lie in it. */
  readonly runtimeDir: string;
  /** Where set-up wrote which Python environment to use. */
  readonly toolchainFile: string;
  /** The plane that started this runner holds its standard input. */
  readonly embedded: boolean;
  /** How many attempts at once. */
  readonly slots: number;
  /** Uid of everything in a sandbox when the runner is root, else null. */
  readonly sandboxUid: number | null;
}

const SLOTS = 4;
/** Above every range that Debian and systemd hand out by themselves. */
const SANDBOX_UID = 2_013_200_000;

export function readRunnerSettings(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): RunnerSettings {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      state: { type: "string" },
      slots: { type: "string" },
      embedded: { type: "boolean" },
    },
  });
  if (values.state === undefined) throw new Error("--state DIR is missing");
  const uid = process.getuid?.() ?? 0;
  const name = createHash("sha256").update(values.state).digest("hex").slice(0, 12);
  const base = uid === 0 ? "/run" : (env["XDG_RUNTIME_DIR"] ?? `/tmp/aim-${uid}`);
  return {
    socketPath: join(values.state, "runner.sock"),
    runtimeDir: join(base, `aim-${name}`),
    toolchainFile:
      env["AIM_TOOLCHAIN"] ?? fileURLToPath(new URL("../.aim/toolchain.json", import.meta.url)),
    embedded: values.embedded === true,
    slots: values.slots === undefined ? SLOTS : Number(values.slots),
    sandboxUid: uid === 0 ? SANDBOX_UID : null,
  };
}
