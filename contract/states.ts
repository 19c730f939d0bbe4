// The life of an attempt, once: the plane enforces this table, clients read it, the docs draw it.
import { Type, type Static } from "typebox";

/** Where each state may go. Terminal states have no way out. */
export const ATTEMPT_TRANSITIONS = {
  queued: ["leased", "cancelled", "timed_out"],
  leased: ["preparing", "cancelling", "failed", "timed_out", "lost"],
  preparing: ["running", "cancelling", "failed", "timed_out", "lost"],
  running: ["finalizing", "cancelling", "failed", "timed_out", "lost"],
  finalizing: ["succeeded", "failed", "cancelling", "timed_out", "lost"],
  cancelling: ["cancelled", "succeeded", "failed", "timed_out", "lost"],
  succeeded: [],
  failed: [],
  cancelled: [],
  timed_out: [],
  lost: [],
} as const satisfies Record<string, readonly string[]>;

export type AttemptState = keyof typeof ATTEMPT_TRANSITIONS;
export const ATTEMPT_STATES = Object.keys(ATTEMPT_TRANSITIONS) as readonly AttemptState[];

export function isTerminal(state: AttemptState): boolean {
  return ATTEMPT_TRANSITIONS[state].length === 0;
}

/** States that an attempt can still leave. */
export const LIVE_STATES = ATTEMPT_STATES.filter((state) => !isTerminal(state));
/** Those of them in which a runner holds it. */
export const HELD_STATES = LIVE_STATES.filter((state) => state !== "queued");
export const TERMINAL_STATES = ATTEMPT_STATES.filter(isTerminal);

export function mayMove(from: AttemptState, to: AttemptState): boolean {
  const targets: readonly AttemptState[] = ATTEMPT_TRANSITIONS[from];
  return targets.includes(to);
}

export const AttemptStateSchema = Type.Union([
  Type.Literal("queued"),
  Type.Literal("leased"),
  Type.Literal("preparing"),
  Type.Literal("running"),
  Type.Literal("finalizing"),
  Type.Literal("cancelling"),
  Type.Literal("succeeded"),
  Type.Literal("failed"),
  Type.Literal("cancelled"),
  Type.Literal("timed_out"),
  Type.Literal("lost"),
]);

/** What is known of an attempt's effect on its targets; separate from its state. */
export const EffectSchema = Type.Union([
  Type.Literal("none"),
  Type.Literal("complete"),
  Type.Literal("unknown"),
]);
export type Effect = Static<typeof EffectSchema>;

/** How much of an attempt's evidence was kept. */
export const EvidenceSchema = Type.Union([
  Type.Literal("none"),
  Type.Literal("partial"),
  Type.Literal("complete"),
]);
export type Evidence = Static<typeof EvidenceSchema>;

/** Whether anything was sent to a managed host: not, perhaps, or surely. */
export const RemoteWorkSchema = Type.Union([
  Type.Literal("none"),
  Type.Literal("possible"),
  Type.Literal("started"),
]);
export type RemoteWork = Static<typeof RemoteWorkSchema>;

// Customers match on these in their retry rules: think hard before adding one, never rename one.
export const FAILURE_CATEGORIES = [
  "invalid_spec",
  "policy_denied",
  "source_untrusted",
  "secret_unavailable",
  "sandbox_unavailable",
  "target_unreachable",
  "auth_failed",
  "tool_failed",
  "verification_failed",
  "event_stream",
  "resource_limit",
  "timeout",
  "cancelled",
  "lease_lost",
  "internal",
] as const;
export type FailureCategory = (typeof FAILURE_CATEGORIES)[number];
export const FailureCategorySchema = Type.Enum([...FAILURE_CATEGORIES]);
