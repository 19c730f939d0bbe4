// The routes of the runners' socket.
import type { Route } from "./route.ts";

export const RUNNER_ROUTES = {
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
