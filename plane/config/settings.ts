// What aimd was told: command line first, then the environment. The only reader of both.
import { readFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { parseArgs } from "node:util";

export interface Settings {
  readonly stateDir: string;
  readonly catalog: string | null;
  /** PostgreSQL URL; null for the SQLite file in the state folder. */
  readonly database: string | null;
  readonly listen: { readonly host: string; readonly port: number } | null;
  readonly embeddedRunner: boolean;
  readonly enabled: boolean;
  /** End after this long without a live attempt or an open request; null for never. */
  readonly idleExitMs: number | null;
  readonly logLevel: string;
  readonly leaseTtlMs: number | null;
  /** Callbacks may go to this machine, and then without TLS. */
  readonly allowCallbackLoopback: boolean;
}

export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const USAGE = `aimd serve --state DIR [options]

  --state DIR          folder of the database, the kept bytes and the sockets
  --catalog DIR        folder of customers; without it only a caller's own projects run
  --database-file FILE file that holds the URL of a PostgreSQL database (default: SQLite in the state folder)
  --listen HOST:PORT   also serve clients on TCP
  --no-runner          start no runner beside the plane
  --no-execution       refuse every execute
  --idle-exit-s N      end after N seconds without work
  --log LEVEL          trace, debug, info, warn, error or silent (default info)
  --lease-ttl-s N      seconds a lease lives without a heartbeat (default 30)
  --allow-callback-loopback
                       let callbacks go to this machine, by plain HTTP too
`;

export function readSettings(argv: readonly string[], env: NodeJS.ProcessEnv): Settings {
  const { values } = parse(argv);
  const stateDir = values.state ?? env["AIM_STATE_DIR"];
  if (stateDir === undefined) throw new UsageError("--state DIR is missing");
  return {
    stateDir: absolute(stateDir),
    catalog: values.catalog === undefined ? null : absolute(values.catalog),
    database: values["database-file"] === undefined ? null : readUrl(values["database-file"]),
    listen: values.listen === undefined ? null : address(values.listen),
    embeddedRunner: values["no-runner"] !== true,
    enabled: values["no-execution"] !== true,
    idleExitMs: seconds("idle-exit-s", values["idle-exit-s"]),
    logLevel: values.log ?? "info",
    leaseTtlMs: seconds("lease-ttl-s", values["lease-ttl-s"]),
    allowCallbackLoopback: values["allow-callback-loopback"] === true,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        state: { type: "string" },
        catalog: { type: "string" },
        "database-file": { type: "string" },
        listen: { type: "string" },
        "no-runner": { type: "boolean" },
        "no-execution": { type: "boolean" },
        "idle-exit-s": { type: "string" },
        log: { type: "string" },
        "lease-ttl-s": { type: "string" },
        "allow-callback-loopback": { type: "boolean" },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : "unusable arguments", {
      cause: error,
    });
  }
}

/** The URL may hold a password, so it stands in a file and on no command line. */
function readUrl(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new UsageError(`--database-file: ${path} cannot be read`, { cause: error });
  }
}

function absolute(path: string): string {
  return isAbsolute(path) ? path : resolve(path);
}

function seconds(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 86_400) {
    throw new UsageError(`--${name} takes whole seconds from 1 to 86400`);
  }
  return value * 1000;
}

function address(text: string): { host: string; port: number } {
  const found = /^(.+):(\d{1,5})$/.exec(text);
  const port = Number(found?.[2]);
  if (found?.[1] === undefined || port > 65_535) throw new UsageError("--listen takes HOST:PORT");
  return { host: found[1].replace(/^\[|\]$/g, ""), port };
}

/** Places inside the state folder. */
export function placesIn(stateDir: string) {
  return {
    lock: join(stateDir, "aimd.lock"),
    database: join(stateDir, "aim.sqlite"),
    blobs: join(stateDir, "blobs"),
    /** Private key of this installation's seals. Planes of one PostgreSQL database share it by a copy or a link. */
    sealKey: join(stateDir, "seal.key"),
    sealPublicKey: join(stateDir, "seal.pub"),
    /** Secret that callbacks are signed with, shared in the same way. */
    webhookKey: join(stateDir, "webhook.key"),
    clientSocket: join(stateDir, "aimd.sock"),
    runnerSocket: join(stateDir, "runner.sock"),
  };
}
