// Named moments of the runner at which it matters whether it lives on. Nobody listens but a test that kills it there.
import { channel } from "node:diagnostics_channel";

export type RunnerPoint =
  | "attempt.claimed"
  | "sandbox.opened"
  | "tool.started"
  | "tool.ended"
  | "artifacts.uploaded"
  | "completion.before"
  | "completion.after";

const points = channel("aim:point");

export function point(name: RunnerPoint): void {
  points.publish(name);
}
