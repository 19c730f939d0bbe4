// A plane that hears runners over TLS, and what a runner on another machine is given.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Registered } from "@aim/contract";
import { openTokenKey } from "../../plane/auth/token-key.ts";
import { createRunnerTokens, type RunnerTokens } from "../../plane/auth/tokens.ts";
import { createPlaneClient, type PlaneClient } from "../../runner/plane-client.ts";
import { makeCertificates, type Certificates } from "../harness/certificates.ts";
import { freePort } from "../harness/listener.ts";
import { makeFolder, startPlane, type TestPlane } from "../harness/plane.ts";
import { aRegister } from "../harness/scripted-runner.ts";

const HOUR = 3_600_000;
const AIMD = fileURLToPath(new URL("../../plane/main.ts", import.meta.url));

export interface RemotePlane extends TestPlane {
  readonly port: number;
  readonly url: string;
  readonly certificates: Certificates;
  /** What `aimd runner-token` prints. */
  readonly tokenFor: (name: string, jobTypes?: readonly string[]) => string;
  /** A client that has no token of its own but what it is told. */
  readonly clientFor: (token: () => string | null, ca?: string) => PlaneClient;
}

export async function startRemotePlane(): Promise<RemotePlane> {
  const home = makeFolder("remote");
  const certificates = makeCertificates(home);
  const port = await freePort();
  const { cert, key } = certificates;
  const tls = ["--tls-cert", cert, "--tls-key", key];
  const plane = await startPlane({
    home,
    runner: false,
    arguments: ["--no-runner", "--runner-listen", `127.0.0.1:${port}`, ...tls],
  });
  return {
    ...plane,
    port,
    url: `https://127.0.0.1:${port}`,
    certificates,
    tokenFor: (name, jobTypes) =>
      tokensOf(plane.stateDir).enrol({ name, jobTypes: jobTypes ?? null }, HOUR),
    clientFor: (token, ca = certificates.ca) =>
      createPlaneClient({ host: "127.0.0.1", port, ca: [readFileSync(ca, "utf8")] }, token),
  };
}

/** Tokens as this plane makes them, at another time when asked. */
export function tokensOf(stateDir: string, now = Date.now()): RunnerTokens {
  return createRunnerTokens(openTokenKey(join(stateDir, "runner-token.key")), () => now);
}

/** Runs aimd to its end; answers what it printed. Throws for another status than 0. */
export function runAimd(args: readonly string[]): string {
  return execFileSync(process.execPath, [AIMD, ...args], { encoding: "utf8", stdio: "pipe" });
}

/** Files that a runner's machine has: its token and a folder of its own. */
export function machineOf(plane: RemotePlane, token: string) {
  const folder = join(plane.stateDir, "..", "machine");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
  const reach = ["--plane", plane.url, "--ca", plane.certificates.ca];
  return { tokenFile, arguments: [...reach, "--token-file", tokenFile, "--state", folder] };
}

export interface Enrolled extends PlaneClient {
  readonly id: string;
  readonly token: string;
  readonly registered: Registered;
}

/** A runner of the test's own, let in with an enrolment token. */
export async function enrol(plane: RemotePlane, enrolment: string): Promise<Enrolled> {
  let token: string | null = null;
  const client = plane.clientFor(() => token);
  const register = aRegister();
  const registered = await client.register(register, enrolment);
  token = registered.session?.token ?? "";
  return { ...client, id: register.runner_instance_id, token, registered };
}
