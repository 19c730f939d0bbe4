// SPDX-License-Identifier: Apache-2.0
// The only way out of a sandbox: a UNIX socket per sandbox on which
// aim_dial.py asks for a (host, port). Closed until the rules are set, once.
// Names are resolved here, once per sandbox, and stay pinned to what they were.
import { chmodSync } from "node:fs";
import { lookup } from "node:dns/promises";
import { connect, createServer, isIP } from "node:net";
import type { Server, Socket } from "node:net";
import { canonicalAddress, isRefusedAddress } from "./addresses.ts";

export interface EgressRule {
  /** A name, or an address; only an address opens loopback, link-local and the like. */
  readonly host: string;
  readonly port: number;
  readonly protocol: "tcp";
}

export interface EgressDestination {
  readonly host: string;
  readonly port: number;
  readonly allowed: number;
  readonly denied: number;
  readonly failed: number;
}

export interface EgressCounters {
  /** Connections made. */
  readonly allowed: number;
  /** Refused by rule or by address. */
  readonly denied: number;
  /** Permitted, but the target could not be reached. */
  readonly failed: number;
  readonly bytesOut: number;
  readonly bytesIn: number;
  /** The first 64 asked for; hosts are as the tool spelled them, checked characters only. */
  readonly destinations: readonly EgressDestination[];
  readonly moreDestinations: boolean;
}

type Denial = "denied" | "busy" | "bad_request";
type Failure = "refused" | "timeout" | "unreachable" | "no_route" | "unknown_host" | "failed";

export interface EgressOptions {
  readonly path: string;
  /** Addresses of a name; the default asks the system. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  readonly connectTimeoutMs?: number;
}

const MOST_CONNECTIONS = 512;
const MOST_DESTINATIONS = 64;
const MOST_ADDRESSES = 8;
const LONGEST_REQUEST = 300;
const REQUEST_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 10_000;
const REQUEST = /^CONNECT ([A-Za-z0-9_.:-]{1,253}) ([1-9][0-9]{0,4})$/;

const FAILURES: Readonly<Record<string, Failure>> = {
  ECONNREFUSED: "refused",
  ECONNRESET: "refused",
  ETIMEDOUT: "timeout",
  ENETUNREACH: "unreachable",
  EHOSTUNREACH: "no_route",
  ENOTFOUND: "unknown_host",
  EAI_AGAIN: "unknown_host",
};

async function askSystem(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
}

const codeOf = (problem: unknown): Failure => {
  const code = problem instanceof Error && "code" in problem ? String(problem.code) : "";
  return FAILURES[code] ?? "failed";
};

/** One spelling per host: an address by its bytes, a name lower-case without final dot. */
function canonicalHost(host: string): string {
  if (isIP(host) !== 0) return canonicalAddress(host) ?? host;
  return host.toLowerCase().replace(/\.$/, "");
}

function parseRequest(line: string): { host: string; port: number } | null {
  const [, host, port] = REQUEST.exec(line) ?? [];
  if (host === undefined || Number(port) > 65_535) return null;
  return { host: canonicalHost(host), port: Number(port) };
}

interface Tally {
  host: string;
  port: number;
  allowed: number;
  denied: number;
  failed: number;
}

export class EgressBroker {
  readonly #server: Server;
  readonly #options: EgressOptions;
  readonly #open = new Set<Socket>();
  readonly #pinned = new Map<string, Promise<readonly string[]>>();
  readonly #tallies = new Map<string, Tally>();
  readonly #total = { allowed: 0, denied: 0, failed: 0, bytesOut: 0, bytesIn: 0 };
  #rules: ReadonlyMap<string, EgressRule> | null = null;
  #clients = 0;
  #more = false;
  #closed = false;

  constructor(options: EgressOptions) {
    this.#options = options;
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      this.#accept(client);
    });
  }

  /** `mode` 0666: the directory around the socket decides who reaches it. */
  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      // Stays: an error while accepting must not end the runner.
      this.#server.on("error", reject);
      this.#server.listen(this.options.path, resolve);
    });
    chmodSync(this.options.path, 0o666);
  }

  get options(): EgressOptions {
    return this.#options;
  }

  allow(rules: readonly EgressRule[]): void {
    if (this.#rules !== null) throw new Error("egress rules are set once");
    this.#rules = new Map(rules.map((rule) => [`${canonicalHost(rule.host)} ${rule.port}`, rule]));
  }

  get counters(): EgressCounters {
    const destinations = [...this.#tallies.values()].map((tally) => ({ ...tally }));
    return { ...this.#total, destinations, moreDestinations: this.#more };
  }

  close(): void {
    this.#closed = true;
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  }

  #track(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    // Errors end in "close"; without a listener they would end the runner.
    socket.on("error", () => socket.destroy());
  }

  #accept(client: Socket): void {
    this.#track(client);
    if (this.#clients >= MOST_CONNECTIONS || this.#closed) {
      this.#refuse(client, "busy");
      return;
    }
    this.#clients += 1;
    client.once("close", () => {
      this.#clients -= 1;
    });
    client.setTimeout(REQUEST_TIMEOUT_MS, () => client.destroy());
    let request = "";
    const onData = (chunk: Buffer): void => {
      request += chunk.toString("latin1");
      const end = request.indexOf("\n");
      if (end < 0 && request.length <= LONGEST_REQUEST) return;
      client.off("data", onData);
      client.pause();
      client.setTimeout(0);
      // The dialer waits for our answer before it relays, so nothing follows.
      if (end !== request.length - 1) this.#refuse(client, "bad_request");
      else void this.#serve(client, request.slice(0, end));
    };
    client.on("data", onData);
  }

  async #serve(client: Socket, line: string): Promise<void> {
    const asked = parseRequest(line);
    if (asked === null) {
      this.#count("denied", null);
      this.#refuse(client, "bad_request");
      return;
    }
    const { host, port } = asked;
    const tally = this.#tally(host, port);
    const rule = this.#rules?.get(`${host} ${port}`);
    const target = rule ? await this.#reach(rule.host, port) : "denied";
    if (typeof target === "string") {
      this.#count(target === "denied" ? "denied" : "failed", tally);
      this.#refuse(client, target);
      return;
    }
    if (client.destroyed || this.#closed) {
      target.destroy();
      return;
    }
    this.#count("allowed", tally);
    this.#relay(client, target);
  }

  async #reach(host: string, port: number): Promise<Socket | Failure | "denied"> {
    let addresses: readonly string[];
    try {
      addresses = await this.#addresses(host);
    } catch (problem) {
      return codeOf(problem);
    }
    // A rule that is itself an address opens exactly that one, whatever it is.
    const literal = isIP(host) !== 0;
    const usable = addresses.filter((address) => literal || !isRefusedAddress(address));
    if (usable.length === 0) return "denied";
    const patience = (this.#options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS) / usable.length;
    let failure: Failure = "failed";
    for (const address of usable) {
      const reached = await this.#connect(address, port, patience);
      if (typeof reached !== "string") return reached;
      failure = reached;
    }
    return failure;
  }

  #addresses(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return Promise.resolve([host]);
    const name = canonicalHost(host);
    const known = this.#pinned.get(name);
    if (known) return known;
    const asked = (this.#options.resolve ?? askSystem)(name).then((all) => {
      const found = [...new Set(all)].slice(0, MOST_ADDRESSES);
      if (found.length === 0) throw Object.assign(new Error("no address"), { code: "ENOTFOUND" });
      return found;
    });
    this.#pinned.set(name, asked);
    // Only an answer is pinned; a resolver that was down may be asked again.
    asked.catch(() => this.#pinned.delete(name));
    return asked;
  }

  #connect(address: string, port: number, patience: number): Promise<Socket | Failure> {
    return new Promise((resolve) => {
      const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
      this.#track(socket);
      socket.setTimeout(patience, () => {
        resolve("timeout");
        socket.destroy();
      });
      socket.once("error", (problem) => {
        resolve(codeOf(problem));
      });
      socket.once("close", () => {
        resolve("failed");
      });
      socket.once("connect", () => {
        socket.setTimeout(0);
        resolve(socket);
      });
    });
  }

  #relay(client: Socket, target: Socket): void {
    client.write("OK\n");
    client.on("data", (chunk: Buffer) => {
      this.#total.bytesOut += chunk.byteLength;
    });
    target.on("data", (chunk: Buffer) => {
      this.#total.bytesIn += chunk.byteLength;
    });
    client.pipe(target);
    target.pipe(client);
    client.once("close", () => target.destroy());
    target.once("close", () => {
      // What the target sent last still has to reach the tool.
      if (!client.writableEnded) client.end();
    });
  }

  #refuse(client: Socket, code: Denial | Failure): void {
    client.end(`ERR ${code}\n`, () => client.destroy());
  }

  #count(what: "allowed" | "denied" | "failed", tally: Tally | null): void {
    this.#total[what] += 1;
    if (tally !== null) tally[what] += 1;
  }

  #tally(host: string, port: number): Tally | null {
    const key = `${host} ${port}`;
    const known = this.#tallies.get(key);
    if (known) return known;
    if (this.#tallies.size >= MOST_DESTINATIONS) {
      this.#more = true;
      return null;
    }
    const fresh = { host, port, allowed: 0, denied: 0, failed: 0 };
    this.#tallies.set(key, fresh);
    return fresh;
  }
}
