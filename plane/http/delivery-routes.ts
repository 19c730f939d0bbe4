// Deliveries to callbacks, for whoever runs this installation: what waits, what was given up, and once more, please.
import type { FastifyInstance } from "fastify";
import {
  AimError,
  DELIVERY_STATES,
  EventIdSchema,
  ROUTES,
  type Delivery,
  type DeliveryState,
} from "@aim/contract";
import { allowed } from "../audit/chain.ts";
import { formatTimestamp } from "../base/clock.ts";
import type { CoreParts } from "../core/parts.ts";
import { OUTBOX_TOPIC } from "../execution/dispatcher.ts";
import type { StoredDelivery } from "../store/uses/deliveries.ts";
import { whoAsks } from "./identity.ts";
import { idIn } from "./params.ts";
import { sendJson } from "./reply.ts";

const LISTED_MAX = 100;
const eventIdOf = idIn("event_id", EventIdSchema);

export function addDeliveryRoutes(app: FastifyInstance, parts: CoreParts): void {
  app.get(ROUTES.deliveryList.path, async (request, reply) => {
    const { state = null } = request.query as { state?: string | null };
    if (state !== null && !isDeliveryState(state)) throw new AimError("invalid_request", "/state");
    const found = await parts.store.listDeliveries({ state, limit: LISTED_MAX });
    return sendJson(reply, found.map(deliveryOf));
  });

  app.post(ROUTES.deliveryReplay.path, async (request, reply) => {
    const event_id = eventIdOf(request.params);
    const { callback_index = "" } = request.params as { callback_index?: string };
    if (!/^\d$/.test(callback_index)) throw new AimError("not_found");
    const which = { eventId: event_id, callbackIndex: Number(callback_index) };
    const now = parts.clock.now();
    const audit = allowed(whoAsks(request), {
      action: "delivery.write",
      customer: null,
      what: { event_id },
      detail: { callback_index: which.callbackIndex },
      now,
    });
    const code = await parts.store.replayDelivery({ ...which, now, audit });
    if (code !== null) throw new AimError(code);
    parts.signals.wake(OUTBOX_TOPIC);
    return sendJson(reply, {});
  });
}

function isDeliveryState(text: string): text is DeliveryState {
  const states: readonly string[] = DELIVERY_STATES;
  return states.includes(text);
}

function deliveryOf(stored: StoredDelivery): Delivery {
  return {
    event_id: stored.eventId,
    callback_index: stored.callbackIndex,
    run_id: stored.attemptId,
    sequence: stored.sequence,
    type: stored.type,
    url: stored.url,
    state: stored.state,
    tries: stored.tries,
    created_at: formatTimestamp(stored.created),
    next_try_at: stored.state === "waiting" ? formatTimestamp(stored.nextTry) : null,
    last_status: stored.lastStatus,
    last_error: stored.lastError,
  };
}
