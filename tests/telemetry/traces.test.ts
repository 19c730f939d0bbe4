// The trace of a job at a receiver of the test's own: one trace for each attempt, its stages one after another.
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { startPlane, until } from "../harness/plane.ts";
import { joinRunner, reportOf } from "../harness/scripted-runner.ts";
import { INPUTS, SPEC } from "../store/samples.ts";

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { key: string; value: { stringValue?: string } }[];
  readonly status: { readonly code?: number };
}

interface Sent {
  readonly resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[];
}

async function startReceiver() {
  const spans: SentSpan[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const sent = JSON.parse(Buffer.concat(pieces).toString()) as Sent;
    spans.push(
      ...sent.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
    );
    response.setHeader("content-type", "application/json").end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    spans,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const attribute = (span: SentSpan | undefined, name: string) =>
  span?.attributes.find(({ key }) => key === name)?.value.stringValue;

test("a job's stages arrive as one trace with the ids of whoever ordered it", async () => {
  await using receiver = await startReceiver();
  await using plane = await startPlane({
    runner: false,
    arguments: ["--no-runner", "--otlp-endpoint", receiver.url],
  });
  const bytes = new Uint8Array(Buffer.from("- hosts: all\n"));
  const sha256 = await plane.client.uploadSource(bytes);
  const file = { path: "project/site.yml", sha256, size: bytes.length, executable: false };
  const { bundle_digest } = await plane.client.createBundle({ customer: "acme", files: [file] });
  const runner = await joinRunner(plane.stateDir);
  const { run_id: runId } = await plane.client.createJob({
    spec: {
      ...SPEC,
      operation_id: "op-1",
      plan_node_id: "node-1",
      node_run_id: "noderun-1",
      source: { bundle_digest },
      destructive: true,
      inputs: INPUTS,
    },
  });
  const grant = await runner.takeOne();
  await runner.complete(runId, reportOf(grant, []));
  await until(20_000, () => receiver.spans.some(({ name }) => name === "completion"));

  const names = ["job accepted", "queue", "lease", "execution", "upload", "completion"];
  const spans = names.map((name) => receiver.spans.find((span) => span.name === name));
  expect(spans.map((span) => span?.name)).toEqual(names);
  expect(new Set(spans.map((span) => span?.traceId)).size).toBe(1);
  const [root, ...children] = spans;
  expect(root?.parentSpanId ?? "").toBe("");
  expect(children.map((span) => span?.parentSpanId)).toEqual(children.map(() => root?.spanId));
  for (const span of spans) {
    expect(attribute(span, "operation_id")).toBe("op-1");
    expect(attribute(span, "plan_node_id")).toBe("node-1");
    expect(attribute(span, "node_run_id")).toBe("noderun-1");
    expect(attribute(span, "attempt_id")).toBe(runId);
  }
  expect(attribute(spans.at(-1), "runner_instance_id")).toMatch(/^rnr_/);
  expect(attribute(spans.at(-1), "state")).toBe("succeeded");
  const ends = spans.map((span) => BigInt(span?.endTimeUnixNano ?? 0));
  expect(ends).toEqual(ends.toSorted((a, b) => Number(a - b)));
  expect(JSON.stringify(receiver.spans)).not.toContain("acme");
});

test("a receiver that is not there disturbs nothing and keeps no plane from ending", async () => {
  await using plane = await startPlane({
    runner: false,
    arguments: ["--no-runner", "--otlp-endpoint", "http://127.0.0.1:1"],
  });
  expect(await plane.client.health()).toBe(true);
  await plane.stop();
  expect(plane.process.exitCode).toBe(0);
});
