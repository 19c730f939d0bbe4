// What aimd was told: command line first, then the environment. The only reader of both.
import { readFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { createSecureContext } from "node:tls";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { isLoopback } from "../base/loopback.ts";
import type { SilentCancel } from "../execution/step.ts";
import { JOURNAL_BYTES, JOURNAL_EVENTS, type JournalLimits } from "../journal/retention.ts";
import { readOidcFile, type OidcSettings } from "./oidc-file.ts";

export interface Settings {
  readonly stateDir: string;
  readonly catalog: string | null;
  /** PostgreSQL URL; null for the SQLite file in the state folder. */
  readonly database: string | null;
  /** Where clients are heard by TCP; without TLS on loopback only. */
  readonly listen: Listen<Tls | null> | null;
  /** Who vouches for users from elsewhere; null for nobody. */
  readonly oidc: OidcSettings | null;
  /** Where runners on other machines are heard. */
  readonly runnerListen: Listen<Tls> | null;
  readonly embeddedRunner: boolean;
  readonly enabled: boolean;
  /** End after this long without a live attempt or an open request; null for never. */
  readonly idleExitMs: number | null;
  readonly logLevel: string;
  readonly leaseTtlMs: number | null;
  /** State of an attempt that was asked to stop and whose runner then fell silent. */
  readonly silentCancel: SilentCancel;
  /** How much of each attempt's journal is kept. */
  readonly journal: JournalLimits;
  /** Callbacks may go to this machine, and then without TLS. */
  readonly allowCallbackLoopback: boolean;
  /** Bring an older schema up at the start. */
  readonly migrate: boolean;
  /** Where traces go, by OTLP over HTTP; null for nowhere. */
  readonly otlpEndpoint: string | null;
}

/** Certificate and key as PEM. */
export interface Tls {
  readonly cert: string;
  readonly key: string;
}

interface Listen<T> {
  readonly host: string;
  readonly port: number;
  readonly tls: T;
}

export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const USAGE = `aimd serve --state DIR [options]

  --state DIR          folder of the database, the kept bytes and the sockets
  --catalog DIR        folder of customers; without it only a caller's own projects run
  --database-file FILE file that holds the URL of a PostgreSQL database (default: SQLite in the state folder)
  --listen HOST:PORT   also serve clients on TCP, by TLS with the two options below; without them on loopback only
  --oidc FILE          let users of an identity provider in, as FILE says (JSON); needs --listen
  --runner-listen HOST:PORT
                       also serve runners on other machines; needs the two options below
  --tls-cert FILE      certificate of this plane and those it was made by, as PEM
  --tls-key FILE       its private key, as PEM
  --no-runner          start no runner beside the plane
  --no-execution       refuse every execute
  --idle-exit-s N      end after N seconds without work
  --log LEVEL          trace, debug, info, warn, error or silent (default info)
  --lease-ttl-s N      seconds a lease lives without a heartbeat (default 30)
  --silent-cancel STATE
                       lost or cancelled: what an attempt becomes that was asked to stop and whose runner then fell
                       silent (default lost)
  --journal-max-events N
                       newest events kept of each attempt, 100 to 200000 (default 20000)
  --journal-max-bytes N
                       bytes of them, 65536 to 67108864 (default 8388608)
  --allow-callback-loopback
                       let callbacks go to this machine, by plain HTTP too
  --otlp-endpoint URL  send traces there by OTLP over HTTP (to URL/v1/traces)
  --no-migrate         refuse to start on the schema of an older release instead of bringing it up

aimd migrate --state DIR [--database-file FILE]

  brings the schema of the database to that of this release, prints both numbers and ends

aimd backup --state DIR [--with-keys] [--database-file FILE] TARGET

  copies the database and the kept bytes into the new folder TARGET while the plane goes on; the keys of this
  installation only with --with-keys; the rows of a PostgreSQL database with pg_dump, not with this

aimd restore BACKUP --state DIR

  makes the state folder DIR, which must be empty or not there, of a backup, once it was found whole

aimd runner-token --state DIR --name NAME [options]

  prints a token with which a runner on another machine may register

  --name NAME          what the runner is called: lower case letters, digits, . _ and -
  --job-types A,B      the only job types it may take (default: all)
  --ttl-s N            seconds in which the token may be used, 60 to 2592000 (default 3600)
`;

export interface TokenRequest {
  readonly stateDir: string;
  readonly name: string;
  readonly jobTypes: readonly string[] | null;
  readonly ttlMs: number;
}

export function readSettings(argv: readonly string[], env: NodeJS.ProcessEnv): Settings {
  const values = parse(argv, SERVE_OPTIONS);
  return {
    stateDir: stateDirOf(values.state, env),
    catalog: values.catalog === undefined ? null : absolute(values.catalog),
    database: values["database-file"] === undefined ? null : readUrl(values["database-file"]),
    ...listeners(values),
    oidc: oidcOf(values),
    embeddedRunner: values["no-runner"] !== true,
    enabled: values["no-execution"] !== true,
    idleExitMs: seconds("idle-exit-s", values["idle-exit-s"]),
    logLevel: values.log ?? "info",
    leaseTtlMs: seconds("lease-ttl-s", values["lease-ttl-s"]),
    silentCancel: silentCancelOf(values["silent-cancel"]),
    journal: journalLimits(values),
    allowCallbackLoopback: values["allow-callback-loopback"] === true,
    migrate: values["no-migrate"] !== true,
    otlpEndpoint: httpUrl("otlp-endpoint", values["otlp-endpoint"]),
  };
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const TOKEN_TTL_S = { least: 60, most: 2_592_000, default: 3_600 } as const;

/** `jobTypes` are those that exist; `reserved` is no name for a runner. */
export function readTokenRequest(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  known: { readonly jobTypes: readonly string[]; readonly reserved: string },
): TokenRequest {
  const values = parse(argv, TOKEN_OPTIONS);
  const { name } = values;
  if (name === undefined || !NAME.test(name) || name === known.reserved) {
    throw new UsageError("--name takes lower case letters, digits, . _ and -, and not local");
  }
  const jobTypes = values["job-types"]?.split(",") ?? null;
  const unknown = jobTypes?.find((type) => !known.jobTypes.includes(type));
  if (unknown !== undefined) throw new UsageError(`--job-types: there is no job type ${unknown}`);
  const ttlS = Number(values["ttl-s"] ?? TOKEN_TTL_S.default);
  if (!Number.isInteger(ttlS) || ttlS < TOKEN_TTL_S.least || ttlS > TOKEN_TTL_S.most) {
    throw new UsageError(
      `--ttl-s takes whole seconds from ${TOKEN_TTL_S.least} to ${TOKEN_TTL_S.most}`,
    );
  }
  return { stateDir: stateDirOf(values.state, env), name, jobTypes, ttlMs: ttlS * 1000 };
}

/** A database, by the options of `serve` that name one. */
export type DatabasePlace = Pick<Settings, "stateDir" | "database">;

export function readDatabasePlace(argv: readonly string[], env: NodeJS.ProcessEnv): DatabasePlace {
  return databasePlace(parse(argv, DATABASE_OPTIONS), env);
}

function databasePlace(
  values: { readonly state?: string | undefined; readonly "database-file"?: string | undefined },
  env: NodeJS.ProcessEnv,
): DatabasePlace {
  const file = values["database-file"];
  return {
    stateDir: stateDirOf(values.state, env),
    database: file === undefined ? null : readUrl(file),
  };
}

export interface BackupWish extends DatabasePlace {
  readonly target: string;
  readonly withKeys: boolean;
}

export function readBackupWish(argv: readonly string[], env: NodeJS.ProcessEnv): BackupWish {
  const { values, place } = parseWithPlace(argv, BACKUP_OPTIONS, "TARGET");
  return { ...databasePlace(values, env), target: place, withKeys: values["with-keys"] === true };
}

export interface RestoreWish {
  readonly source: string;
  readonly stateDir: string;
}

export function readRestoreWish(argv: readonly string[], env: NodeJS.ProcessEnv): RestoreWish {
  const { values, place } = parseWithPlace(argv, { state: text }, "BACKUP");
  return { source: place, stateDir: stateDirOf(values.state, env) };
}

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const SERVE_OPTIONS = {
  state: text,
  catalog: text,
  "database-file": text,
  listen: text,
  oidc: text,
  "runner-listen": text,
  "tls-cert": text,
  "tls-key": text,
  "no-runner": flag,
  "no-execution": flag,
  "idle-exit-s": text,
  log: text,
  "lease-ttl-s": text,
  "silent-cancel": text,
  "journal-max-events": text,
  "journal-max-bytes": text,
  "allow-callback-loopback": flag,
  "no-migrate": flag,
  "otlp-endpoint": text,
} as const;
const TOKEN_OPTIONS = { state: text, name: text, "job-types": text, "ttl-s": text } as const;

const DATABASE_OPTIONS = { state: text, "database-file": text } as const;
const BACKUP_OPTIONS = { ...DATABASE_OPTIONS, "with-keys": flag } as const;

function parse<O extends ParseArgsOptionsConfig>(argv: readonly string[], options: O) {
  return usable(() => parseArgs({ args: [...argv], options })).values;
}

/** The same with one path beside the options. */
function parseWithPlace<O extends ParseArgsOptionsConfig>(
  argv: readonly string[],
  options: O,
  name: string,
) {
  const { values, positionals } = usable(() =>
    parseArgs({ args: [...argv], options, allowPositionals: true }),
  );
  const [place, ...more] = positionals;
  if (place === undefined || more.length > 0) throw new UsageError(`name one ${name}`);
  return { values, place: absolute(place) };
}

function usable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : "unusable arguments", {
      cause: error,
    });
  }
}

interface JournalOptions {
  readonly "journal-max-events"?: string;
  readonly "journal-max-bytes"?: string;
}

function journalLimits(values: JournalOptions): JournalLimits {
  const limit = (
    name: keyof JournalOptions,
    { least, most, usual }: typeof JOURNAL_EVENTS | typeof JOURNAL_BYTES,
  ) => {
    const value = values[name] === undefined ? usual : Number(values[name]);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new UsageError(`--${name} takes a whole number from ${least} to ${most}`);
  };
  return {
    maxEvents: limit("journal-max-events", JOURNAL_EVENTS),
    maxBytes: limit("journal-max-bytes", JOURNAL_BYTES),
  };
}

function stateDirOf(state: string | undefined, env: NodeJS.ProcessEnv): string {
  const stateDir = state ?? env["AIM_STATE_DIR"];
  if (stateDir === undefined) throw new UsageError("--state DIR is missing");
  return absolute(stateDir);
}

type Values = ReturnType<typeof parse<typeof SERVE_OPTIONS>>;

function listeners(values: Values): Pick<Settings, "listen" | "runnerListen"> {
  const { listen, "runner-listen": runner } = values;
  const tls = readTls(values["tls-cert"], values["tls-key"]);
  if (tls !== null && listen === undefined && runner === undefined) {
    throw new UsageError("--tls-cert and --tls-key need --listen or --runner-listen");
  }
  if (runner !== undefined && tls === null) {
    throw new UsageError("--runner-listen needs --tls-cert and --tls-key");
  }
  const clients = listen === undefined ? null : { ...address("listen", listen), tls };
  if (clients !== null && tls === null && !isLoopback(clients.host)) {
    throw new UsageError("--listen without --tls-cert and --tls-key takes a loopback address");
  }
  const runnerListen =
    runner === undefined || tls === null ? null : { ...address("runner-listen", runner), tls };
  return { listen: clients, runnerListen };
}

function oidcOf({ listen, oidc }: Values): OidcSettings | null {
  if (oidc === undefined) return null;
  if (listen === undefined) throw new UsageError("--oidc needs --listen");
  try {
    return readOidcFile(absolute(oidc));
  } catch (error) {
    const message = error instanceof Error ? error.message : "cannot be used";
    throw new UsageError(`--oidc: ${message}`, { cause: error });
  }
}

function readTls(certFile: string | undefined, keyFile: string | undefined): Tls | null {
  if (certFile === undefined && keyFile === undefined) return null;
  if (certFile === undefined || keyFile === undefined) {
    throw new UsageError("--tls-cert and --tls-key belong together");
  }
  const tls = { cert: readFile("tls-cert", certFile), key: readFile("tls-key", keyFile) };
  try {
    createSecureContext(tls);
  } catch (error) {
    throw new UsageError("--tls-cert and --tls-key are no certificate and its key", {
      cause: error,
    });
  }
  return tls;
}

function readFile(option: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`--${option}: ${path} cannot be read`, { cause: error });
  }
}

/** The URL may hold a password, so it stands in a file and on no command line. */
function readUrl(path: string): string {
  return readFile("database-file", path).trim();
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

function silentCancelOf(text = "lost"): SilentCancel {
  if (text === "lost" || text === "cancelled") return text;
  throw new UsageError("--silent-cancel takes lost or cancelled");
}

function httpUrl(option: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const url = URL.parse(text);
  const plain = url?.username === "" && url.password === "" && url.search === "";
  if (url === null || !/^https?:$/.test(url.protocol) || !plain) {
    throw new UsageError(`--${option} takes an http or https address without credentials or query`);
  }
  return text;
}

function address(option: string, text: string): { host: string; port: number } {
  const found = /^(.+):(\d{1,5})$/.exec(text);
  const port = Number(found?.[2]);
  if (found?.[1] === undefined || port > 65_535)
    throw new UsageError(`--${option} takes HOST:PORT`);
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
    /** Key that runners' tokens are signed with, shared in the same way. */
    runnerTokenKey: join(stateDir, "runner-token.key"),
    clientSocket: join(stateDir, "aimd.sock"),
    runnerSocket: join(stateDir, "runner.sock"),
  };
}
