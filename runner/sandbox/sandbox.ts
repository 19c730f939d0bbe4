// SPDX-License-Identifier: Apache-2.0
// One sandbox, for one attempt, used once. Opened before its job is known; the
// runner then fills `workspace`, opens the egress, and starts the tool.
// Nothing outside this folder starts processes; nothing in it knows job types.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { release } from "node:os";
import { PassThrough } from "node:stream";
import type { Readable } from "node:stream";
import { bubblewrapVersion, launch } from "./bubblewrap.ts";
import type { Launched } from "./bubblewrap.ts";
import { CgroupLeaf, findCgroup } from "./cgroup.ts";
import { checkConfig, SandboxError } from "./config.ts";
import type { IsolationFacts, SandboxConfig } from "./config.ts";
import { encodeMessage, readMessages } from "./control.ts";
import type { ExitMessage, InitMessage } from "./control.ts";
import { makeHome } from "./home.ts";
import type { SandboxHome } from "./home.ts";
import { EgressBroker } from "./egress.ts";
import type { EgressCounters, EgressRule } from "./egress.ts";
import { encodeStart } from "./job.ts";
import type { SandboxJob } from "./job.ts";
import { holdNamespace, killNamespace, namespaceOf, processFacts } from "./proof.ts";
import type { ProcessIdentity, Proof } from "./proof.ts";
import { seccompProgram, thisMachine } from "./seccomp.ts";

export { SandboxError } from "./config.ts";
export type {
  IsolationFacts,
  ReadOnlyMount,
  SandboxConfig,
  SandboxFault,
  SandboxLimits,
} from "./config.ts";
export type { EgressCounters, EgressDestination, EgressRule } from "./egress.ts";
export type { PrivateInput, SandboxJob } from "./job.ts";
export type { Proof } from "./proof.ts";

export interface SandboxExit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly reason: "exited" | "stopped" | "deadline" | "lease" | "sandbox_died";
}

export interface SandboxProcess {
  /** The private channel, raw bytes; null when the job asked for none. */
  readonly frames: Readable | null;
  /** Both must be drained by the caller: a full one stops the tool. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exit: Promise<SandboxExit>;
  /** Signal to every process, SIGKILL to all after `graceMs`; resolves at the exit. */
  stop(graceMs: number): Promise<void>;
}

export interface Sandbox {
  readonly id: string;
  /** Host path; /work inside. */
  readonly workspace: string;
  readonly isolation: IsolationFacts;
  readonly egress: EgressCounters;
  /** Host pid of init, for diagnosis. */
  readonly initPid: number;
  start(job: SandboxJob): Promise<SandboxProcess>;
  allowEgress(rules: readonly EgressRule[]): void;
  /** From the first call on, no further call in time means everything inside dies. */
  extendDeadline(msFromNow: number): void;
  destroy(): Promise<Proof>;
}

const START_PATIENCE_MS = 45_000;
const OPEN_PATIENCE_MS = 15_000;
/** Init kills after the grace; when it does not say so by then, we kill from outside. */
const STOP_MARGIN_MS = 700;

const settled = <T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(late());
    }, ms);
  });
  return Promise.race([work, limit]).finally(() => {
    clearTimeout(timer);
  });
};

function checkTime(ms: number): void {
  // A wrong number would be null in JSON, and the watchdog would be off.
  if (!Number.isFinite(ms) || ms < 0) throw new RangeError("sandbox: milliseconds, not negative");
}

/** Node resumes the streams of a child that ended, reader or not; behind this, nothing is lost. */
function kept(socket: Readable): Readable {
  const through = new PassThrough();
  socket.once("close", () => through.end());
  socket.pipe(through);
  return through;
}

interface Parts {
  readonly config: SandboxConfig;
  readonly home: SandboxHome;
  readonly broker: EgressBroker;
  readonly launched: Launched;
  readonly init: ProcessIdentity;
  readonly namespace: string;
  readonly release: () => void;
  readonly leaf: CgroupLeaf | null;
  readonly isolation: IsolationFacts;
}

class ProcessSandbox implements Sandbox {
  readonly id: string;
  readonly workspace: string;
  readonly isolation: IsolationFacts;
  readonly initPid: number;
  readonly #parts: Parts;
  readonly #ready = Promise.withResolvers<void>();
  readonly #started = Promise.withResolvers<void>();
  readonly #exit = Promise.withResolvers<SandboxExit>();
  readonly #streams: { stdout: Readable; stderr: Readable; frames: Readable };
  #used = false;
  #destroyed: Promise<Proof> | null = null;

  constructor(parts: Parts) {
    const { home, launched } = parts;
    this.id = home.id;
    this.workspace = home.workspace;
    this.isolation = parts.isolation;
    this.initPid = parts.init.pid;
    this.#parts = parts;
    this.#streams = {
      stdout: kept(launched.stdout),
      stderr: kept(launched.stderr),
      frames: kept(launched.frames),
    };
    for (const promise of [this.#ready, this.#started]) promise.promise.catch(() => undefined);
    readMessages(launched.control, (message) => {
      this.#hear(message);
    });
    // The last message may still lie in the socket when the process is gone.
    launched.control.once("close", () => {
      this.#died();
    });
  }

  get egress(): EgressCounters {
    return this.#parts.broker.counters;
  }

  /** Sets the limits; init starts nothing before, so all it makes is limited. */
  async prepare(): Promise<void> {
    const { limits } = this.#parts.config;
    this.#send({
      type: "prepare",
      limits: {
        RLIMIT_NOFILE: limits.openFiles,
        RLIMIT_FSIZE: limits.fileBytes,
        RLIMIT_NPROC: limits.pids,
        RLIMIT_DATA: limits.memoryBytes,
        RLIMIT_MEMLOCK: 1 << 16,
        RLIMIT_MSGQUEUE: 0,
      },
    });
    await settled(
      this.#ready.promise,
      OPEN_PATIENCE_MS,
      () => new SandboxError("init", "did not answer"),
    );
  }

  async start(job: SandboxJob): Promise<SandboxProcess> {
    if (this.#used) throw new SandboxError("used", "a sandbox starts one job");
    if (this.#destroyed !== null) throw new SandboxError("ended", "destroyed");
    const buffers = encodeStart(job);
    this.#used = true;
    for (const buffer of buffers) this.#parts.launched.control.write(buffer);
    await settled(
      this.#started.promise,
      START_PATIENCE_MS,
      () => new SandboxError("start", "no answer"),
    );
    return {
      ...this.#streams,
      frames: job.channel === null ? null : this.#streams.frames,
      exit: this.#exit.promise,
      stop: (graceMs) => this.#stop(graceMs),
    };
  }

  allowEgress(rules: readonly EgressRule[]): void {
    this.#parts.broker.allow(rules);
  }

  extendDeadline(msFromNow: number): void {
    checkTime(msFromNow);
    this.#send({ type: "extend", ms: msFromNow });
  }

  destroy(): Promise<Proof> {
    this.#destroyed ??= this.#destroy();
    return this.#destroyed;
  }

  async #stop(graceMs: number): Promise<void> {
    checkTime(graceMs);
    this.#send({ type: "stop", grace_ms: graceMs });
    const late = new Error("late");
    try {
      await settled(this.#exit.promise, graceMs + STOP_MARGIN_MS, () => late);
    } catch {
      this.#exit.resolve({ code: null, signal: "SIGKILL", reason: "stopped" });
      await this.#kill();
    }
  }

  async #kill(): Promise<Proof> {
    const { launched, init, namespace, leaf } = this.#parts;
    const proof = await killNamespace(init, namespace);
    // bubblewrap leaves by itself once init is gone, and reaps it first.
    if (launched.process.exitCode === null && launched.process.signalCode === null) {
      const gone = once(launched.process, "exit");
      const insist = setTimeout(() => launched.process.kill("SIGKILL"), 300);
      await gone;
      clearTimeout(insist);
    }
    const empty = leaf === null || (await leaf.destroy());
    return { ...proof, killConfirmed: proof.killConfirmed && empty };
  }

  async #destroy(): Promise<Proof> {
    const { broker, launched, home, release: letGo } = this.#parts;
    broker.close();
    const proof = await this.#kill();
    launched.control.destroy();
    letGo();
    // With something possibly alive, the directory stays for orphans.ts.
    if (proof.killConfirmed) await home.remove();
    return proof;
  }

  #send(message: object): void {
    const { control } = this.#parts.launched;
    if (!control.writable) return;
    for (const buffer of encodeMessage(message)) control.write(buffer);
  }

  #hear(message: InitMessage): void {
    if (message.type === "ready") this.#ready.resolve();
    else if (message.type === "started") this.#started.resolve();
    else if (message.type === "failed")
      this.#started.reject(new SandboxError("start", message.reason));
    else this.#ended(message);
  }

  #ended({ code, signal, reason }: ExitMessage): void {
    this.#exit.resolve({ code, signal, reason });
    this.#refuse(new SandboxError("ended", reason));
  }

  #died(): void {
    this.#exit.resolve({ code: null, signal: null, reason: "sandbox_died" });
    this.#refuse(new SandboxError("init", this.#parts.launched.diagnostics() || "ended"));
  }

  #refuse(problem: SandboxError): void {
    this.#ready.reject(problem);
    this.#started.reject(problem);
  }
}

async function describe(config: SandboxConfig, leaf: CgroupLeaf | null): Promise<IsolationFacts> {
  const machine = thisMachine();
  return {
    kind: "process",
    bubblewrap: await bubblewrapVersion(config.bwrap),
    kernel: release(),
    namespaces: ["user", "mount", "pid", "ipc", "uts", "net", "cgroup"],
    seccomp: {
      machine,
      sha256: createHash("sha256").update(seccompProgram(machine)).digest("hex"),
    },
    noNewPrivileges: true,
    cgroup: leaf ? "v2" : "none",
    memoryLimit: leaf ? "cgroup" : "per_process",
    pidsLimit: leaf ? "cgroup" : "per_user_namespace",
    hostUid: config.uid ?? process.getuid?.() ?? -1,
    network: "none_with_broker",
  };
}

/** Waits for init's identity; bubblewrap's own complaint is the better error. */
async function identify(launched: Launched): Promise<{ init: ProcessIdentity; namespace: string }> {
  const pid = await settled(
    launched.initPid,
    OPEN_PATIENCE_MS,
    () => new SandboxError("bubblewrap", "no answer"),
  );
  if (pid === null) {
    await launched.closed;
    throw new SandboxError("bubblewrap", launched.diagnostics() || "ended at once");
  }
  const facts = processFacts(pid);
  const namespace = namespaceOf(pid);
  if (!facts || namespace === null || namespace === namespaceOf(process.pid)) {
    throw new SandboxError(
      "bubblewrap",
      launched.diagnostics() || "init has no namespace of its own",
    );
  }
  return { init: { pid, start: facts.start }, namespace };
}

async function assemble(
  config: SandboxConfig,
  home: SandboxHome,
  broker: EgressBroker,
): Promise<ProcessSandbox> {
  const launched = launch(config, { workspace: home.workspace, egressSocket: home.egressSocket });
  const bubblewrapPid = launched.process.pid;
  let leaf: CgroupLeaf | null = null;
  try {
    const { init, namespace } = await identify(launched);
    const letGo = holdNamespace(init.pid);
    home.record(init, namespace);
    const parent = findCgroup(config.cgroup);
    if (parent !== null) leaf = new CgroupLeaf(parent, home.id, config.limits);
    if (bubblewrapPid !== undefined) leaf?.add(bubblewrapPid);
    leaf?.add(init.pid);
    const isolation = await describe(config, leaf);
    return new ProcessSandbox({
      config,
      home,
      broker,
      launched,
      init,
      namespace,
      release: letGo,
      leaf,
      isolation,
    });
  } catch (problem) {
    // die-with-parent takes init along.
    launched.process.kill("SIGKILL");
    await leaf?.destroy();
    throw problem;
  }
}

export async function openSandbox(config: SandboxConfig, id: string): Promise<Sandbox> {
  checkConfig(config, id);
  const home = makeHome(config, id);
  const broker = new EgressBroker({ path: home.egressSocket });
  let sandbox: ProcessSandbox | null = null;
  try {
    await broker.listen();
    sandbox = await assemble(config, home, broker);
    await sandbox.prepare();
    return sandbox;
  } catch (problem) {
    if (sandbox) await sandbox.destroy();
    else {
      broker.close();
      await home.remove();
    }
    throw problem;
  }
}
