// Where things are and how the terminal wants to be spoken to. The only place of the CLI that reads the environment.
import { homedir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { CliFault } from "./fault.ts";
import { EXIT } from "./exit-codes.ts";

export interface GlobalFlags {
  readonly socket?: string;
  readonly state?: string;
  /** Address of a plane elsewhere. */
  readonly url?: string;
  /** Name of a plane that one is logged in to. */
  readonly context?: string;
  /** File of the authority that made the plane's certificate. */
  readonly ca?: string;
}

/** Of a command that answers one document. */
export interface OutputFlags extends GlobalFlags {
  readonly output: "text" | "json";
}

export interface Places {
  readonly stateDir: string;
  readonly socketPath: string;
  /** The caller named a socket: the plane behind it is somebody else's to start. */
  readonly socketGiven: boolean;
}

/** Longest path of a UNIX socket on Linux, in bytes. */
const SOCKET_PATH_BYTES_MAX = 107;

/** Variables of the caller that a plane needs; everything else, secrets included, stays with the caller. */
const PLANE_VARIABLES =
  /^(PATH|HOME|USER|LOGNAME|LANG|LC_[A-Z]+|TZ|TMPDIR|XDG_[A-Z_]+|AIM_[A-Z_]+)$/;

/** Resolves the state folder and the socket. Throws CliFault 64 when the socket's path is too long for a socket. */
export function places(flags: GlobalFlags): Places {
  const stateDir = resolve(flags.state ?? process.env["AIM_STATE_DIR"] ?? defaultStateDir());
  const socketPath = resolve(flags.socket ?? join(stateDir, "aimd.sock"));
  if (Buffer.byteLength(socketPath) > SOCKET_PATH_BYTES_MAX) {
    throw new CliFault(
      EXIT.usage,
      "The socket's path is too long for a UNIX socket. Choose a shorter --state.",
    );
  }
  return { stateDir, socketPath, socketGiven: flags.socket !== undefined };
}

function defaultStateDir(): string {
  const stateHome = process.env["XDG_STATE_HOME"];
  // The XDG rules say that a relative value is to be ignored.
  if (stateHome?.startsWith("/") === true) return join(stateHome, "aim");
  return join(homedir(), ".local", "state", "aim");
}

export function configDir(): string {
  const configHome = process.env["XDG_CONFIG_HOME"];
  if (configHome?.startsWith("/") === true) return join(configHome, "aim");
  return join(homedir(), ".config", "aim");
}

/** File with the token of a program; a token itself stands in no environment. */
export function tokenFile(): string | null {
  const path = process.env["AIM_TOKEN_FILE"] ?? "";
  return path === "" ? null : resolve(path);
}

export function userName(): string {
  return userInfo().username;
}

export function defaultKnownHosts(): string {
  return join(homedir(), ".ssh", "known_hosts");
}

export type ColorChoice = "auto" | "always" | "never";

/** `--color` decides; then NO_COLOR, CLICOLOR_FORCE and whether the stream is a terminal that is not dumb. */
export function wantsColor(choice: ColorChoice, stream: { readonly isTTY?: boolean }): boolean {
  if (choice !== "auto") return choice === "always";
  if ((process.env["NO_COLOR"] ?? "") !== "") return false;
  const forced = process.env["CLICOLOR_FORCE"] ?? "";
  if (forced !== "" && forced !== "0") return true;
  return stream.isTTY === true && !isDumbTerminal();
}

export function isDumbTerminal(): boolean {
  return process.env["TERM"] === "dumb";
}

export function planeEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => PLANE_VARIABLES.test(name));
  return Object.fromEntries(kept);
}
