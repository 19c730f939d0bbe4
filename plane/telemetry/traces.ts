// The life of an attempt as one trace, sent by OTLP over HTTP. Loaded only when an endpoint was named.
import { createHash } from "node:crypto";
import {
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  RandomIdGenerator,
  NodeTracerProvider,
  type IdGenerator,
} from "@opentelemetry/sdk-trace-node";
import { isTerminal, PRODUCT_VERSION } from "@aim/contract";
import { Remembered, type Observer, type Seen } from "../execution/observer.ts";

const SEND_EVERY_MS = 1_000;
const FLUSH_MS = 2_000;

/** What an attempt is doing, from outside. */
type Stage = "queue" | "lease" | "execution" | "upload";

interface Life {
  readonly stage: Stage;
  readonly since: number;
  readonly epoch: number;
  readonly attributes: Attributes;
}

interface Piece {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly failed?: boolean;
  readonly attributes: Attributes;
}

export interface Traces {
  readonly observer: Observer;
  /** Sends what is left, for two seconds at most. */
  readonly stop: () => Promise<void>;
}

/** `endpoint` is the receiver's address without `/v1/traces`. */
export function createTraces(endpoint: string): Traces {
  const ids = new NamedIds();
  const url = `${endpoint.replace(/\/$/, "")}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: FLUSH_MS });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({
      "service.name": "aimd",
      "service.version": PRODUCT_VERSION,
    }),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor(exporter, { scheduledDelayMillis: SEND_EVERY_MS })],
  });
  const tracer = provider.getTracer("aim");

  function write(attemptId: string, piece: Piece, root: boolean): void {
    const { traceId, rootId } = idsOf(attemptId);
    const parent = { traceId, spanId: rootId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
    if (root) ids.next = { traceId, spanId: rootId };
    const span = tracer.startSpan(
      piece.name,
      { startTime: piece.from, root, attributes: piece.attributes },
      root ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
    );
    if (piece.failed === true) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(Math.max(piece.from, piece.to));
  }

  return { observer: createObserver(write), stop: () => stopWithin(provider) };
}

function createObserver(write: (attemptId: string, piece: Piece, root: boolean) => void): Observer {
  const lives = new Remembered<Life>();

  /** Ends the stage that the attempt was in and begins another. */
  function turn(seen: Seen, stage: Stage): void {
    const { attempt, now } = seen;
    const life = lives.get(attempt.id);
    if (life === undefined || life.stage === stage) return;
    const attributes = { ...life.attributes, ...attributesOf(seen) };
    write(attempt.id, { name: life.stage, from: life.since, to: now, attributes }, false);
    lives.set(attempt.id, { ...life, stage, since: now, epoch: attempt.epoch, attributes });
  }

  function close(seen: Seen): void {
    const { attempt, now } = seen;
    const life = lives.get(attempt.id);
    const attributes = { ...life?.attributes, ...attributesOf(seen), state: attempt.state };
    const failed = attempt.state !== "succeeded";
    if (life !== undefined) {
      write(attempt.id, { name: life.stage, from: life.since, to: now, attributes }, false);
    }
    const end = { name: "completion", from: now, to: now, failed, attributes };
    write(attempt.id, end, false);
    lives.forget(attempt.id);
  }

  return {
    accepted: (seen) => {
      const { attempt } = seen;
      const attributes = attributesOf(seen);
      const since = attempt.created;
      write(attempt.id, { name: "job accepted", from: since, to: since, attributes }, true);
      lives.set(attempt.id, { stage: "queue", since, epoch: 0, attributes });
    },
    claimed: (seen) => {
      const { attempt } = seen;
      if (lives.get(attempt.id) === undefined) {
        const attributes = attributesOf(seen);
        lives.set(attempt.id, { stage: "queue", since: attempt.created, epoch: 0, attributes });
      }
      // A claim that is repeated gets the same lease.
      if (lives.get(attempt.id)?.epoch !== attempt.epoch) turn(seen, "lease");
    },
    moved: (seen) => {
      const { state } = seen.attempt;
      if (state === "running") turn(seen, "execution");
      if (state === "finalizing") turn(seen, "upload");
      if (isTerminal(state)) close(seen);
    },
    beat: () => undefined,
  };
}

function attributesOf({ attempt, job }: Seen): Attributes {
  const found: Record<string, string | null | undefined> = {
    attempt_id: attempt.id,
    job_id: attempt.jobId,
    runner_instance_id: attempt.runner,
    job_type: job?.spec.job_type,
    operation_id: job?.spec.operation_id,
    plan_node_id: job?.spec.plan_node_id,
    node_run_id: job?.spec.node_run_id,
  };
  return Object.fromEntries(
    Object.entries(found).filter(([, value]) => value !== undefined && value !== null),
  ) as Attributes;
}

/** Derived, so that whichever plane sees a part of an attempt's life writes into the same trace. */
function idsOf(attemptId: string): { traceId: string; rootId: string } {
  const hex = createHash("sha256").update(`trace ${attemptId}`).digest("hex");
  return { traceId: hex.slice(0, 32), rootId: hex.slice(32, 48) };
}

/** Random, except for the one span that is named beforehand. */
class NamedIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  next: { traceId: string | null; spanId: string | null } = { traceId: null, spanId: null };

  generateTraceId(): string {
    const { traceId } = this.next;
    this.next = { ...this.next, traceId: null };
    return traceId ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    const { spanId } = this.next;
    this.next = { ...this.next, spanId: null };
    return spanId ?? this.#random.generateSpanId();
  }
}

async function stopWithin(provider: NodeTracerProvider): Promise<void> {
  const late = new Promise<void>((resolve) => setTimeout(resolve, FLUSH_MS).unref());
  // A receiver that is gone keeps nobody from ending.
  await Promise.race([provider.shutdown().catch(() => undefined), late]);
}
