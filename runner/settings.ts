// What a runner was told. The only reader of its command line and environment.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { getCACertificates } from "node:tls";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Connection } from "./plane-client.ts";

export interface RunnerSettings {
  readonly connection: Connection;
  /** Reads the enrolment token of a remote runner; answers null on the local socket. */
  readonly enrolment: () => string | null;
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

export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const USAGE = `aim-runner --state DIR [options]
aim-runner --plane https://HOST:PORT --token-file FILE [options]

  --state DIR        state folder of a plane on this machine; with --plane any name that tells the runners of one
                     machine apart (default /var/lib/aim-runner, or aim-runner in your own state folder)
  --plane URL        a plane on another machine, by HTTPS only
  --token-file FILE  file that holds the enrolment token of aimd runner-token; read again at each enrolment
  --ca FILE          certificates that the plane's own must be made by, as PEM (default: the system's)
  --slots N          how many attempts at once, 1 to 256 (default 4)
`;

const SLOTS = { default: 4, most: 256 } as const;
/** Above every range that Debian and systemd hand out by themselves. */
const SANDBOX_UID = 2_013_200_000;

export function readRunnerSettings(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): RunnerSettings {
  const values = parse(argv);
  const uid = process.getuid?.() ?? 0;
  const state = values.state ?? (values.plane === undefined ? undefined : ownState(uid, env));
  if (state === undefined) throw new UsageError("--state DIR or --plane URL is missing");
  const name = createHash("sha256").update(state).digest("hex").slice(0, 12);
  const base = uid === 0 ? "/run" : (env["XDG_RUNTIME_DIR"] ?? `/tmp/aim-${uid}`);
  return {
    ...(values.plane === undefined ? locally(state, values) : remotely(values.plane, values)),
    runtimeDir: join(base, `aim-${name}`),
    toolchainFile:
      env["AIM_TOOLCHAIN"] ?? fileURLToPath(new URL("../.aim/toolchain.json", import.meta.url)),
    embedded: values.embedded === true,
    slots: slotsOf(values.slots),
    sandboxUid: uid === 0 ? SANDBOX_UID : null,
  };
}

type Values = ReturnType<typeof parse>;
type Reach = Pick<RunnerSettings, "connection" | "enrolment">;

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        state: { type: "string" },
        plane: { type: "string" },
        "token-file": { type: "string" },
        ca: { type: "string" },
        slots: { type: "string" },
        embedded: { type: "boolean" },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : "unusable arguments", {
      cause: error,
    });
  }
}

function ownState(uid: number, env: NodeJS.ProcessEnv): string {
  if (uid === 0) return "/var/lib/aim-runner";
  return join(env["XDG_STATE_HOME"] ?? join(env["HOME"] ?? "", ".local/state"), "aim-runner");
}

function locally(state: string, values: Values): Reach {
  if (values["token-file"] !== undefined || values.ca !== undefined) {
    throw new UsageError("--token-file and --ca belong to --plane URL");
  }
  return { connection: { socketPath: join(state, "runner.sock") }, enrolment: () => null };
}

function remotely(plane: string, values: Values): Reach {
  const tokenFile = values["token-file"];
  if (tokenFile === undefined) throw new UsageError("--plane needs --token-file FILE");
  read("--token-file", tokenFile);
  const ca = values.ca === undefined ? getCACertificates("system") : [read("--ca", values.ca)];
  return {
    connection: { ...placeOf(plane), ca },
    enrolment: () => readFileSync(tokenFile, "utf8").trim(),
  };
}

function placeOf(text: string): { host: string; port: number } {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== "https:") throw new UsageError("--plane takes https://HOST:PORT only");
  if (url.href !== `https://${url.host}/`) {
    throw new UsageError("--plane takes https://HOST:PORT without a user, a path or a question");
  }
  return { host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port || 443) };
}

function read(option: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`${option}: ${path} cannot be read`, { cause: error });
  }
}

function slotsOf(text: string | undefined): number {
  if (text === undefined) return SLOTS.default;
  const slots = Number(text);
  if (!/^\d+$/.test(text) || slots < 1 || slots > SLOTS.most) {
    throw new UsageError(`--slots takes a whole number from 1 to ${SLOTS.most}`);
  }
  return slots;
}
