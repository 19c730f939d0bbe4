// Named moments of the plane at which it matters whether it lives on. Nobody listens but a test that kills it there.
import { channel } from "node:diagnostics_channel";

export type PlanePoint =
  | "store.before_commit"
  | "store.after_commit"
  | "http.before_answer"
  | "http.after_answer"
  | "blobs.before_rename"
  | "blobs.after_rename"
  | "outbox.sent"
  | "seal.before_save"
  | "recovery.middle";

const points = channel("aim:point");

export function point(name: PlanePoint): void {
  points.publish(name);
}
