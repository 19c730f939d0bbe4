// The plane's client operations as typed functions over a lent transport. Browser-safe.
import {
  AimError,
  API_VERSION,
  OPERATION_BYTES_MAX,
  pathOf,
  type AuditRow,
  type Capabilities,
  type Credentials,
  type Delivery,
  type DeliveryState,
  type Manifest,
  type OperationOf,
  type Prepared,
  type Project,
  type RegisteredProject,
  type RunEvent,
  type RunRequest,
  type RunResult,
  type RunStatus,
  type SealedAuditHead,
  type SealEnvelope,
  type SealKey,
} from "@aim/contract";
import { accessCalls, type AccessCalls } from "./access.ts";
import { ClientError, isClientError } from "./client-error.ts";
import { sha256Hex } from "./digest.ts";
import { jobCalls, type JobCalls } from "./jobs.ts";
import { journalCalls, type JournalCalls } from "./journal.ts";
import { drain, jsonAnswer, queryOf, refusal, refusalOf } from "./json.ts";
import { readWire, type ReadLine } from "./ndjson.ts";
import { mayResume, RECONNECTION, resumed, type Reconnection } from "./reconnection.ts";
import type { Answer, Call, Transport } from "./transport.ts";

/** One line of a run: its events in order, then exactly one result. */
export type RunLine =
  | { readonly type: "event"; readonly event: RunEvent }
  | { readonly type: "response"; readonly response: RunResult };

export type Execution = Omit<OperationOf<"execute">, "api_version" | "operation">;

export interface ArtifactName {
  readonly sha256: string;
  readonly size: number;
}

export interface StreamOptions {
  /** Ends the reading, never the run. */
  readonly signal?: AbortSignal | undefined;
}

/** Every function throws AimError for a refusal and ClientError for an answer that is missing, cut or foreign. */
export interface Client extends JobCalls, AccessCalls, JournalCalls {
  /** Whether a plane answers there. Never throws. */
  health(): Promise<boolean>;
  capabilities(): Promise<Capabilities>;
  prepare(request: RunRequest): Promise<Prepared>;
  /** Events, then the result. Leaving the loop does not stop the run. A cut after the first event is resumed. */
  execute(execution: Execution, options?: StreamOptions): AsyncGenerator<RunLine, void, undefined>;
  status(runId: string): Promise<RunStatus>;
  cancel(runId: string): Promise<RunStatus>;
  /** The events with a sequence above `after`, live ones too, then the result. Resumes after a cut. */
  follow(
    runId: string,
    after?: number,
    options?: StreamOptions,
  ): AsyncGenerator<RunLine, void, undefined>;
  /** The newest runs. */
  runs(): Promise<readonly RunStatus[]>;
  artifacts(runId: string): Promise<Manifest>;
  /** The seal over a run's evidence. The plane refuses with `not_found` for a run that left none. */
  seal(runId: string): Promise<SealEnvelope>;
  /** The public key that the plane seals with. */
  sealKey(): Promise<SealKey>;
  /** The bytes of one artifact, checked against its digest. Throws ClientError `digest_mismatch`. */
  artifact(runId: string, file: ArtifactName): Promise<Uint8Array>;
  /** Hands credentials over for the next execute, which names them by the id returned. */
  credentials(credentials: Credentials): Promise<string>;
  project(project: Project): Promise<RegisteredProject>;
  /** The newest deliveries to callbacks, of one state when given. */
  deliveries(state?: DeliveryState): Promise<readonly Delivery[]>;
  /** Sends a delivery that was given up once more. */
  replayDelivery(delivery: Pick<Delivery, "event_id" | "callback_index">): Promise<void>;
  /** Rows of the audit after a position, oldest first. */
  audit(after?: number): Promise<readonly AuditRow[]>;
  /** The end of the audit's chain, sealed. */
  auditHead(): Promise<SealedAuditHead>;
  /** Sends one operation's line unchanged and yields the answer's lines as they came, error lines included. */
  raw(line: string, options?: StreamOptions): AsyncGenerator<ReadLine, void, undefined>;
}

export function createClientOver(
  transport: Transport,
  reconnection: Reconnection = RECONNECTION,
): Client {
  const json = <T>(call: Call) => jsonAnswer<T>(transport, call);
  const operate = async <T>(operation: Record<string, unknown>) => {
    const call = operationCall(JSON.stringify({ api_version: API_VERSION, ...operation }));
    return singleResponse<T>(transport, call);
  };
  const follow: Client["follow"] = (runId, after = 0, options = {}) =>
    resume({ transport, reconnection }, { runId, after }, options);

  return {
    health: () => answers(transport),
    capabilities: () => operate({ operation: "capabilities" }),
    prepare: (request) => operate({ operation: "prepare", request }),
    execute: (execution, options = {}) => execute({ transport, follow }, execution, options),
    status: (runId) => operate({ operation: "status", run_id: runId }),
    cancel: (runId) => operate({ operation: "cancel", run_id: runId }),
    follow,
    runs: () => json({ method: "GET", path: pathOf("runList") }),
    artifacts: (runId) => json({ method: "GET", path: pathOf("artifactList", { run_id: runId }) }),
    seal: (runId) => json({ method: "GET", path: pathOf("seal", { run_id: runId }) }),
    sealKey: () => json({ method: "GET", path: pathOf("sealKey") }),
    artifact: (runId, file) => artifactBytes(transport, runId, file),
    credentials: async (credentials) => {
      const body = JSON.stringify(credentials);
      const call: Call = { method: "POST", path: pathOf("credentials"), body };
      const answered = await json<{ credentials_id?: unknown }>(call);
      if (typeof answered.credentials_id !== "string") throw new ClientError("bad_answer");
      return answered.credentials_id;
    },
    project: (project) =>
      json({ method: "POST", path: pathOf("project"), body: JSON.stringify(project) }),
    deliveries: (state) =>
      json({ method: "GET", path: `${pathOf("deliveryList")}${queryOf({ state })}` }),
    replayDelivery: async ({ event_id, callback_index }) => {
      const values = { event_id, callback_index: String(callback_index) };
      await json({ method: "POST", path: pathOf("deliveryReplay", values) });
    },
    audit: (after = 0) =>
      json({ method: "GET", path: `${pathOf("auditList")}${queryOf({ after })}` }),
    auditHead: () => json({ method: "GET", path: pathOf("auditHead") }),
    ...jobCalls(json, transport),
    ...accessCalls(json),
    ...journalCalls(json, transport, reconnection),
    raw: (line, options = {}) => rawLines(transport, operationCall(line, options.signal)),
  };
}

/** Throws request_too_large here: a plane that refuses the size may close before the answer can be read. */
function operationCall(body: string, signal?: AbortSignal): Call {
  if (new TextEncoder().encode(body).length > OPERATION_BYTES_MAX) {
    throw new AimError("request_too_large");
  }
  return { method: "POST", path: pathOf("operations"), body, signal };
}

async function answers(transport: Transport): Promise<boolean> {
  try {
    const answer = await transport({ method: "GET", path: pathOf("health") });
    await drain(answer);
    return answer.status === 200;
  } catch {
    return false;
  }
}

async function* rawLines(
  transport: Transport,
  call: Call,
): AsyncGenerator<ReadLine, void, undefined> {
  const answer = await transport(call);
  yield* readWire(answer.chunks);
}

async function singleResponse<T>(transport: Transport, call: Call): Promise<T> {
  for await (const { line } of rawLines(transport, call)) {
    if (line.type === "error") throw refusal(line.error);
    if (line.type === "response") return line.response as T;
  }
  throw new ClientError("stream_cut");
}

async function* runLines(
  transport: Transport,
  call: Call,
): AsyncGenerator<RunLine, void, undefined> {
  for await (const { line } of rawLines(transport, call)) {
    if (line.type === "error") throw refusal(line.error);
    if (line.type === "event") yield line;
    else yield { type: "response", response: asRunResult(line.response) };
  }
}

/** The few members without which nobody could tell a success from a failure. */
function asRunResult(response: unknown): RunResult {
  if (typeof response !== "object" || response === null) throw new ClientError("bad_answer");
  const { state, targets, target_summary: summary } = response as Partial<RunResult>;
  const whole = typeof state === "string" && Array.isArray(targets) && typeof summary === "object";
  if (!whole) throw new ClientError("bad_answer");
  return response as RunResult;
}

interface Executor {
  readonly transport: Transport;
  readonly follow: Client["follow"];
}

async function* execute(
  { transport, follow }: Executor,
  execution: Execution,
  options: StreamOptions,
): AsyncGenerator<RunLine, void, undefined> {
  const body = JSON.stringify({ api_version: API_VERSION, operation: "execute", ...execution });
  let last: RunEvent | undefined;
  try {
    for await (const line of runLines(transport, operationCall(body, options.signal))) {
      if (line.type === "event") last = line.event;
      yield line;
    }
    return;
  } catch (error) {
    // Without an event nobody here knows which run it became: the caller must say so.
    if (last === undefined || !mayResume(error, options.signal)) throw error;
  }
  yield* follow(last.run_id, last.sequence, options);
}

interface Follower {
  readonly transport: Transport;
  readonly reconnection: Reconnection;
}

async function* resume(
  { transport, reconnection }: Follower,
  place: { runId: string; after: number },
  options: StreamOptions,
): AsyncGenerator<RunLine, void, undefined> {
  let { after } = place;
  const connect = () => newLines(transport, { ...place, after }, options);
  for await (const line of resumed(reconnection, options.signal, connect)) {
    if (line.type === "event") after = line.event.sequence;
    yield line;
  }
}

/** One connection's lines, without events that were seen before. */
async function* newLines(
  transport: Transport,
  place: { runId: string; after: number },
  options: StreamOptions,
): AsyncGenerator<RunLine, void, undefined> {
  let { after } = place;
  const path = `${pathOf("runEvents", { run_id: place.runId })}?after=${after}`;
  for await (const line of runLines(transport, { method: "GET", path, signal: options.signal })) {
    if (line.type === "event" && line.event.sequence <= after) continue;
    if (line.type === "event") after = line.event.sequence;
    yield line;
  }
}

async function artifactBytes(
  transport: Transport,
  run_id: string,
  file: ArtifactName,
): Promise<Uint8Array> {
  const call: Call = { method: "GET", path: pathOf("artifact", { run_id, sha256: file.sha256 }) };
  const answer = await transport(call);
  if (answer.status !== 200) throw await refusalOf(answer);
  const bytes = await collect(answer, file.size);
  if ((await sha256Hex(bytes)) !== file.sha256) throw new ClientError("digest_mismatch");
  return bytes;
}

async function collect(answer: Answer, size: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(size);
  let offset = 0;
  try {
    for await (const chunk of answer.chunks) {
      if (offset + chunk.length > size) throw new ClientError("digest_mismatch");
      bytes.set(chunk, offset);
      offset += chunk.length;
    }
  } catch (error) {
    if (isClientError(error)) throw error;
    throw new ClientError("stream_cut", { cause: error });
  }
  if (offset !== size) throw new ClientError("stream_cut");
  return bytes;
}
