// What is known of how an attempt was captured, in one word. Pure.
import { isTerminal, type AttemptState, type CaptureState } from "@aim/contract";

/** `capture` is what its journal says; null for an attempt without one. */
export function captureOf(state: AttemptState, capture: string | null): CaptureState {
  const ended = isTerminal(state);
  if (capture === null) return ended ? "unavailable" : "waiting";
  if (capture === "unavailable" || capture === "closed") return capture;
  return ended ? "interrupted" : "live";
}
