// Every route of the plane, for servers, clients and the rights matrix.
import type { Action } from "./access.ts";

export interface Route {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  /** `client`: the public socket. `local`: the public socket, only where it is a local one. `runner`: the runners' socket. */
  readonly face: "client" | "local" | "runner";
  /** What a principal must be allowed to do; null for a route that asks nobody. A handler may ask for more. */
  readonly action: Action | null;
  readonly does: string;
}

export const ROUTES = {
  operations: {
    method: "POST",
    path: "/v1/operations",
    face: "client",
    action: "capabilities.read",
    does: "one Core operation; answers JSON lines",
  },
  runEvents: {
    method: "GET",
    path: "/v1/runs/:run_id/events",
    face: "client",
    action: "job.read",
    does: "events after `?after=`, then live ones, as JSON lines",
  },
  runList: {
    method: "GET",
    path: "/v1/runs",
    face: "client",
    action: "job.read",
    does: "the newest runs",
  },
  artifactList: {
    method: "GET",
    path: "/v1/runs/:run_id/artifacts",
    face: "client",
    action: "job.read",
    does: "the manifest of a run",
  },
  artifact: {
    method: "GET",
    path: "/v1/runs/:run_id/artifacts/:sha256",
    face: "client",
    action: "job.read",
    does: "the bytes of one artifact of a run",
  },
  seal: {
    method: "GET",
    path: "/v1/runs/:run_id/seal",
    face: "client",
    action: "job.read",
    does: "the seal over the evidence of a run",
  },
  sealKey: {
    method: "GET",
    path: "/v1/seal-key",
    face: "client",
    action: "capabilities.read",
    does: "the public key that seals are made with",
  },
  jobCreate: {
    method: "POST",
    path: "/v1/jobs",
    face: "client",
    action: "job.execute",
    does: "accepts a job, once for each idempotency key of a customer",
  },
  jobList: {
    method: "GET",
    path: "/v1/jobs",
    face: "client",
    action: "job.read",
    does: "the newest jobs, `?before=` a job, of one `?state=` or `?customer=` when asked",
  },
  job: {
    method: "GET",
    path: "/v1/jobs/:job_id",
    face: "client",
    action: "job.read",
    does: "a job with all its attempts",
  },
  jobCancel: {
    method: "POST",
    path: "/v1/jobs/:job_id/cancel",
    face: "client",
    action: "job.cancel",
    does: "asks the newest attempt of a job to stop",
  },
  jobRetry: {
    method: "POST",
    path: "/v1/jobs/:job_id/attempts",
    face: "client",
    action: "job.retry",
    does: "makes a new attempt of an ended job, once for each idempotency key",
  },
  sourceUpload: {
    method: "PUT",
    path: "/v1/blobs/:sha256",
    face: "client",
    action: "job.prepare",
    does: "keeps the bytes of one file of a bundle",
  },
  bundleCreate: {
    method: "POST",
    path: "/v1/bundles",
    face: "client",
    action: "job.prepare",
    does: "makes a bundle of uploaded files and answers its digest",
  },
  usage: {
    method: "GET",
    path: "/v1/usage",
    face: "client",
    action: "usage.read",
    does: "what ended attempts took, `?after=` a cursor",
  },
  runnerList: {
    method: "GET",
    path: "/v1/runners",
    face: "client",
    action: "runner.read",
    does: "the runners that registered",
  },
  runnerDrain: {
    method: "POST",
    path: "/v1/runners/:runner_instance_id/drain",
    face: "client",
    action: "runner.write",
    does: "lets a runner finish what it holds and take nothing more",
  },
  auditList: {
    method: "GET",
    path: "/v1/audit",
    face: "client",
    action: "audit.read",
    does: "rows of the audit `?after=` a position, oldest first",
  },
  auditHead: {
    method: "GET",
    path: "/v1/audit/head",
    face: "client",
    action: "audit.read",
    does: "the end of the audit's chain, sealed",
  },
  openapi: {
    method: "GET",
    path: "/v1/openapi.json",
    face: "client",
    action: "capabilities.read",
    does: "this API as an OpenAPI 3.1 document",
  },
  health: {
    method: "GET",
    path: "/healthz",
    face: "client",
    action: null,
    does: "the process answers",
  },
  ready: {
    method: "GET",
    path: "/readyz",
    face: "client",
    action: null,
    does: "200 when this plane takes work, else 503 and why not",
  },
  metrics: {
    method: "GET",
    path: "/metrics",
    face: "client",
    action: "metrics.read",
    does: "metrics in Prometheus' text form",
  },
  credentials: {
    method: "POST",
    path: "/v1/credentials",
    face: "local",
    action: "job.execute",
    does: "hands credentials over for the next execute; kept in memory, used once",
  },
  project: {
    method: "POST",
    path: "/v1/project",
    face: "local",
    action: "job.prepare",
    does: "registers a playbook and inventory of the caller's own machine",
  },
  acceptance: {
    method: "PUT",
    path: "/v1/acceptance",
    face: "local",
    action: "setting.write",
    does: "records that the acceptance suite passed for a controller",
  },
  backup: {
    method: "POST",
    path: "/v1/backup",
    face: "local",
    action: "setting.write",
    does: "copies the database and the kept bytes into a new folder, while everything goes on",
  },
  deliveryList: {
    method: "GET",
    path: "/v1/deliveries",
    face: "local",
    action: "delivery.read",
    does: "the newest deliveries to callbacks, of one `?state=` when asked",
  },
  deliveryReplay: {
    method: "POST",
    path: "/v1/deliveries/:event_id/:callback_index/replay",
    face: "local",
    action: "delivery.write",
    does: "sends a delivery that was given up once more",
  },
  register: {
    method: "POST",
    path: "/runner/v1/runners",
    face: "runner",
    action: "runner.work",
    does: "a runner says what it is and can",
  },
  claim: {
    method: "POST",
    path: "/runner/v1/claims",
    face: "runner",
    action: "runner.work",
    does: "takes the next attempt or inspection, or 204",
  },
  heartbeat: {
    method: "POST",
    path: "/runner/v1/attempts/:run_id/heartbeats",
    face: "runner",
    action: "runner.work",
    does: "extends the lease, learns of a stop",
  },
  move: {
    method: "POST",
    path: "/runner/v1/attempts/:run_id/state",
    face: "runner",
    action: "runner.work",
    does: "moves the attempt on",
  },
  events: {
    method: "POST",
    path: "/runner/v1/attempts/:run_id/events",
    face: "runner",
    action: "runner.work",
    does: "stores a batch of events",
  },
  take: {
    method: "POST",
    path: "/runner/v1/attempts/:run_id/credentials",
    face: "runner",
    action: "runner.work",
    does: "takes the caller's credentials, once",
  },
  upload: {
    method: "PUT",
    path: "/runner/v1/attempts/:run_id/artifacts/:sha256",
    face: "runner",
    action: "runner.work",
    does: "stores the bytes of one artifact",
  },
  complete: {
    method: "POST",
    path: "/runner/v1/attempts/:run_id/completion",
    face: "runner",
    action: "runner.work",
    does: "ends the attempt",
  },
  blob: {
    method: "GET",
    path: "/runner/v1/blobs/:sha256",
    face: "runner",
    action: "runner.work",
    does: "the bytes of one reviewed file",
  },
  inspected: {
    method: "POST",
    path: "/runner/v1/inspections/:inspection_id",
    face: "runner",
    action: "runner.work",
    does: "answers an inspection",
  },
} as const satisfies Record<string, Route>;
export type RouteName = keyof typeof ROUTES;

/** Fills the `:name` places of a route's path. */
export function pathOf(name: RouteName, values: Readonly<Record<string, string>> = {}): string {
  return ROUTES[name].path.replaceAll(/:([a-z_0-9]+)/g, (_, key: string) =>
    encodeURIComponent(values[key] ?? ""),
  );
}
