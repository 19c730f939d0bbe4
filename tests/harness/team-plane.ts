// A real plane that serves a team by TCP, and what a client there sends byte by byte.
import { readFileSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { GrantedRole, LoggedIn, MadeToken, NewToken, Role, UserCode } from "@aim/contract";
import { makeCertificates, type Certificates } from "./certificates.ts";
import { freePort } from "./listener.ts";
import { makeFolder, startPlane, until, type TestPlane } from "./plane.ts";

export interface TeamPlane extends TestPlane {
  readonly port: number;
  readonly url: string;
  readonly certificates: Certificates | null;
  /** What the plane has printed so far. */
  readonly printed: () => string;
  readonly ask: (call: TeamCall) => Promise<TeamAnswer>;
  /** The same on the local socket, where nobody is asked who they are. */
  readonly askLocally: (call: TeamCall) => Promise<TeamAnswer>;
  /** A user with a password and a token of all their roles. */
  readonly join: (name: string, roles: readonly GrantedRole[]) => Promise<Member>;
}

export interface Member {
  readonly id: string;
  readonly name: string;
  readonly password: string;
  readonly token: string;
}

export interface TeamCall {
  readonly method?: string;
  readonly path: string;
  /** Sent as JSON unless it is text. */
  readonly body?: unknown;
  readonly token?: string;
  readonly cookie?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Another address of this machine to come from. */
  readonly from?: string;
}

export interface TeamAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Of a JSON answer. */
  readonly json: unknown;
}

export function grant(role: Role, customer: string | null = "acme"): GrantedRole {
  return { role, customer, job_types: null };
}

export interface TeamPlaneOptions {
  readonly tls?: boolean;
  readonly home?: string;
  readonly runner?: boolean;
  /** By default one that is free. */
  readonly port?: number;
  readonly arguments?: readonly string[];
}

export async function startTeamPlane(options: TeamPlaneOptions = {}): Promise<TeamPlane> {
  const home = options.home ?? makeFolder("team");
  const certificates = options.tls === true ? makeCertificates(home) : null;
  const port = options.port ?? (await freePort());
  const tls =
    certificates === null ? [] : ["--tls-cert", certificates.cert, "--tls-key", certificates.key];
  const plane = await startPlane({
    home,
    runner: options.runner ?? false,
    arguments: [
      ...(options.runner === true ? [] : ["--no-runner"]),
      "--listen",
      `127.0.0.1:${port}`,
      ...tls,
      ...(options.arguments ?? []),
    ],
  });
  let printed = "";
  plane.process.stdout?.setEncoding("utf8").on("data", (text: string) => (printed += text));
  await until(10_000, () => printed.includes('"ready":true'));
  const ca = certificates === null ? null : readFileSync(certificates.ca, "utf8");
  const askLocally = (call: TeamCall) => send({ socketPath: plane.socketPath }, call);
  return {
    ...plane,
    port,
    url: `${ca === null ? "http" : "https"}://127.0.0.1:${port}`,
    certificates,
    printed: () => printed,
    ask: (call) => send({ host: "127.0.0.1", port, ca }, call),
    askLocally,
    join: (name, roles) => join(askLocally, name, roles),
  };
}

/** Makes a session's own headers: what our own page would send. */
export function asPage(cookie: string): Pick<TeamCall, "cookie" | "headers"> {
  return { cookie, headers: { "aim-request": "1", "content-type": "application/json" } };
}

/** The `name=value` of the cookie that an answer sets; empty for none. */
export function cookieOf({ headers }: TeamAnswer): string {
  return headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
}

async function join(
  ask: TeamPlane["ask"],
  name: string,
  roles: readonly GrantedRole[],
): Promise<Member> {
  const password = `${name} has a long password`;
  const made = await ask({ path: "/v1/users", body: { name, roles } });
  const { code, user } = made.json as UserCode;
  const token = { name: "test" };
  const entered = await ask({ path: "/v1/setup", body: { code, password, token } });
  return { id: user.user_id, name, password, token: (entered.json as LoggedIn).token ?? "" };
}

/** A service's token, made on the local socket. */
export async function makeService(plane: TeamPlane, wish: NewToken): Promise<string> {
  return ((await plane.askLocally({ path: "/v1/tokens", body: wish })).json as MadeToken).token;
}

type Target =
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number; readonly ca: string | null };

function send(target: Target, call: TeamCall): Promise<TeamAnswer> {
  const { body } = call;
  const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
  const headers = {
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(call.token === undefined ? {} : { authorization: `Bearer ${call.token}` }),
    ...(call.cookie === undefined ? {} : { cookie: call.cookie }),
    ...call.headers,
    ...(text === undefined ? {} : { "content-length": String(Buffer.byteLength(text)) }),
  };
  const method = call.method ?? (body === undefined ? "GET" : "POST");
  const secure = "ca" in target && target.ca !== null;
  const start = secure ? httpsRequest : httpRequest;
  const from = call.from === undefined ? {} : { localAddress: call.from };
  const at = { ...target, ...from, method, path: call.path, headers, agent: false } as object;
  return new Promise((resolve, reject) => {
    const outgoing = start(at, (incoming) => {
      // A server that refuses a body may close while it is still being sent.
      outgoing.off("error", reject).on("error", () => undefined);
      const pieces: Buffer[] = [];
      incoming.on("data", (piece: Buffer) => pieces.push(piece));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const answer = Buffer.concat(pieces).toString();
        const type = incoming.headers["content-type"] ?? "";
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          text: answer,
          json: answer !== "" && /(?<!nd)json(?:;|$)/.test(type) ? JSON.parse(answer) : null,
        });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(text);
  });
}
