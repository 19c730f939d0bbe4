// A plane in a thread of its own that only takes heartbeats and writes down when each came.
import { createServer } from "node:http";
import { parentPort, workerData } from "node:worker_threads";

export interface BeatenPlane {
  readonly socketPath: string;
  readonly leaseMs: number;
  /** Shared: how many beats came, then the moment of each in milliseconds since the first. */
  readonly beats: Int32Array;
}

const { socketPath, leaseMs, beats } = workerData as BeatenPlane;
let first = 0n;

const server = createServer((request, response) => {
  const now = process.hrtime.bigint();
  if (Atomics.load(beats, 0) === 0) first = now;
  const at = Atomics.add(beats, 0, 1) + 1;
  Atomics.store(beats, at, Number((now - first) / 1_000_000n));
  request.resume().on("end", () => {
    response.setHeader("content-type", "application/x-ndjson");
    response.end(`${JSON.stringify({ response: { lease_ms: leaseMs, cancel: null } })}\n`);
  });
});
server.listen(socketPath, () => parentPort?.postMessage("ready"));
